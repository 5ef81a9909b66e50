"""`joelclaw compaction decide`, `prepare`, `serialize`, `summarize` and `branch`: a compaction outside the client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, step
from clients import file_operations, registry
from clients.entry import Entry, Transcript
from clients.file_operations import FileOperations
from core import config, files
from core.config import Config
from core.errors import Failure, usage
from core.process import model_command
from session.compaction import context, preparation, serialization, session_file, summary
from session.compaction.context import Limits
from session.compaction.preparation import Preparation

if TYPE_CHECKING:
    from clients.client import CompactionSettings
    from core.envelope import NextAction

_NOTHING_YET = "there is nothing to compact yet: this sums up the whole conversation"
_QUOTED = "--instructions only focuses a model's summary; this one quotes the transcript"


def decide(options: dict[str, Any]) -> Answer:
    """Whether to compact, and why.

    Raises:
        Failure: what `session_file.read` says of a file; COMPACTION_INVALID_ARGS for a reserve that leaves no window.
    """
    transcript = _read(options)
    settings, client = _settings(transcript)
    limits = _limits(transcript, options, settings)
    enabled = client["enabled"]
    decision = context.decide(transcript, window=limits.window, reserve=limits.reserve, enabled=enabled)
    size = decision.size
    result = {
        "transcript": transcript.path,
        "client": transcript.client,
        "compact": decision.compact,
        "reason": decision.reason,
        "contextTokens": size.total,
        "source": "usage" if size.from_usage else "estimate",
        "usageTokens": size.from_usage,
        "estimatedTokens": size.estimated,
        "staleUsageIgnored": size.stale is not None,
        "staleUsageTokens": size.stale,
        "messagesSinceCompaction": decision.messages_since_compaction,
        "threshold": decision.threshold,
        "window": limits.window,
        "windowFrom": limits.window_from,
        "reserve": limits.reserve,
        "enabled": enabled,
        "problems": _problems(transcript, client),
    }
    return Answer(result, [_next(transcript, "prepare", "where it would be cut")] if decision.compact else [])


def prepare(options: dict[str, Any]) -> Answer:
    """Where a compaction cuts, and what it takes.

    Raises:
        Failure: as `decide`.
    """
    transcript = _read(options)
    settings, client = _settings(transcript)
    limits = _limits(transcript, options, settings)
    prepared = _prepared(transcript, options, limits, settings)
    result = {
        "transcript": transcript.path,
        "client": transcript.client,
        "reason": prepared.reason,
        "firstKeptEntryId": prepared.first_kept_entry_id,
        "isSplitTurn": prepared.is_split_turn,
        "tokensBefore": prepared.tokens_before,
        "previousSummary": prepared.previous_summary or None,
        "messagesToSummarize": _ids(prepared.entries_to_summarize),
        "turnPrefixMessages": _ids(prepared.turn_prefix_entries),
        "fileOps": _files(prepared.file_ops),
        "settings": prepared.settings,
        "windowFrom": limits.window_from,
        "problems": _problems(transcript, client),
    }
    return Answer(result, [_next(transcript, "summarize", "the summary")] if prepared.reason == "ready" else [])


def serialize(options: dict[str, Any]) -> Answer:
    """The conversation, or a part of it, as flat text.

    Raises:
        Failure: as `decide`.
    """
    transcript = _read(options)
    part = options["part"]
    entries: Iterable[Entry]
    if part == "context":
        entries = context.entries(transcript)
    elif part == "branch":
        entries = [entry for entry in transcript.entries if entry.kind != "compaction"]
    else:
        settings, _ = _settings(transcript)
        prepared = _prepared(transcript, options, _limits(transcript, {}, settings), settings)
        entries = prepared.entries_to_summarize if part == "summarize" else prepared.turn_prefix_entries
    text = serialization.serialize(session_file.messages(transcript, entries))
    result = {
        "transcript": transcript.path,
        "client": transcript.client,
        "part": part,
        "messages": sum(entry.role is not None for entry in entries),
        "characters": len(text),
        "text": text,
        "problems": list(transcript.problems),
    }
    return Answer(result, text=text if options["raw"] else None)


def summarize(options: dict[str, Any]) -> Answer:
    """What a compaction would put in the place of the messages that it drops; of the whole session where it drops none.

    Raises:
        Failure: TRANSCRIPT_* for what cannot be read; MODEL_NOT_FOUND or MODEL_NOT_CONFIGURED where `--command` names
            what cannot be run. What else goes wrong with a model is told with the extractive summary.
    """
    transcript = _read(options)
    settings, client = _settings(transcript)
    limits = _limits(transcript, options, settings)
    prepared = _prepared(transcript, options, limits, settings)
    ready = prepared.reason == "ready"
    problems = _problems(transcript, client)
    if ready:
        parts, done, reserve = summary.parts_of(prepared), prepared.file_ops, limits.reserve
    else:
        problems.append(_NOTHING_YET)
        parts, reserve = [_whole(transcript)], 0
        done = file_operations.together(entry.files for entry in transcript.entries)
    made = summary.summarize(parts, done, _model(options, settings), reserve=reserve)
    if made["source"] == "extractive" and options["instructions"].strip():
        problems.append(_QUOTED)
    result = {
        **made,
        "firstKeptEntryId": prepared.first_kept_entry_id if ready else None,
        "tokensBefore": prepared.tokens_before if ready else None,
        "isSplitTurn": ready and prepared.is_split_turn,
        "problems": [*problems, *made["problems"]],
    }
    return Answer(result, text=made["summary"] if options["raw"] else None)


def _whole(transcript: Transcript) -> summary.Part:
    """All that was said.

    Raises:
        Failure: TRANSCRIPT_EMPTY, nothing was.
    """
    messages = summary.spoken(session_file.messages(transcript, transcript.entries))
    if not any(block.text.strip() or block.name for message in messages for block in message.blocks):
        fix = "name a session in which something was said"
        raise Failure("TRANSCRIPT_EMPTY", f"nothing was said in {transcript.path}", fix)
    return summary.Part("history", messages)


def branch(options: dict[str, Any]) -> Answer:
    """What is left behind on the way from one entry to another.

    Raises:
        Failure: as `decide`; COMPACTION_INVALID_ARGS without `--to`, ENTRY_UNKNOWN; what the model's command says.
    """
    if not options["to"]:
        message, fix = "--to is missing", "give --to ID, the entry that the session goes back to"
        raise usage("COMPACTION_INVALID_ARGS", message, fix)
    transcript = _read(options)
    settings, client = _settings(transcript)
    budget = options["budget"]
    if budget is None:
        limits = _limits(transcript, {}, settings)
        budget = limits.window - limits.reserve
    found = preparation.prepare_branch(transcript, options["leaf"], options["to"], budget=budget)
    result: dict[str, Any] = {
        "transcript": transcript.path,
        "client": transcript.client,
        "from": found.leaf,
        "to": found.target,
        "commonAncestorId": found.common_ancestor,
        "branchEntries": len(found.entries),
        "entries": _ids(found.chosen),
        "tokens": found.tokens,
        "budget": budget,
        "fileOps": _files(found.file_ops),
    }
    problems = [*_problems(transcript, client), *found.problems]
    if found.chosen:
        parts = [summary.Part("branch", summary.spoken(found.messages))]
        reserve = settings.whole("compaction.reserve_tokens")
        made = summary.summarize(parts, found.file_ops, _model(options, settings), reserve=reserve)
        problems += made["problems"]
        result |= made
    else:
        result |= {"summary": None, "source": None, "readFiles": [], "modifiedFiles": []}
    result["problems"] = list(dict.fromkeys(problems))
    return Answer(result)


def _read(options: dict[str, Any]) -> Transcript:
    return session_file.read(options["transcript"], options["client"] or "", options.get("at") or "")


def _settings(transcript: Transcript) -> tuple[Config, CompactionSettings]:
    """Ours, and what the client's own say of compactions, which holds where nobody has said otherwise to us."""
    settings = config.load()
    folder = transcript.cwd or files.current_folder()
    client = registry.row(transcript.client).compaction(folder)
    settings.suggest("compaction.reserve_tokens", client["reserve"])
    settings.suggest("compaction.keep_recent_tokens", client["keep"])
    return settings, client


def _problems(transcript: Transcript, client: CompactionSettings) -> list[str]:
    left_out = [f"{path} is left out: it {reason}" for path, reason in client["dropped"]]
    return [*transcript.problems, *left_out]


def _limits(transcript: Transcript, options: dict[str, Any], settings: Config) -> Limits:
    return context.limits(transcript, settings, window=options.get("window"), reserve=options.get("reserve"))


def _prepared(transcript: Transcript, options: dict[str, Any], limits: Limits, settings: Config) -> Preparation:
    keep: int | None = options["keep_recent"]
    if keep is None:
        keep = settings.whole("compaction.keep_recent_tokens")
    return preparation.prepare(transcript, keep_recent=keep, reserve=limits.reserve, window=limits.window)


def _model(options: dict[str, Any], settings: Config) -> summary.Model:
    """Who writes a summary, and what it is told; a command that the user named must be there."""
    command: str = options["command"]
    ask = model_command.from_config(settings, command)
    room = settings.whole("model.max_prompt_bytes")
    return summary.Model(ask, options["instructions"], room, strict=bool(command.strip()))


def _ids(entries: Iterable[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def _files(ops: FileOperations) -> dict[str, list[str]]:
    return {"read": list(ops.read), "written": list(ops.written), "edited": list(ops.edited)}


def _next(transcript: Transcript, command: str, description: str) -> NextAction:
    return step(
        f"joelclaw compaction {command} <transcript>",
        description,
        {"transcript": {"description": "the session file", "value": transcript.path, "required": True}},
    )
