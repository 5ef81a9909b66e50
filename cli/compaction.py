"""`joelclaw compaction decide`, `prepare`, `serialize` and `branch`: a compaction outside the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer
from clients import file_operations
from clients.context_window import context_window
from core import config
from core.errors import usage
from core.process import model_command
from session.compaction import branch as branches
from session.compaction import context, decision, preparation, reading, serialization

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.entry import Entry, Transcript
    from clients.file_operations import FileOperations
    from core.config import Config
    from core.envelope import NextAction
    from session.compaction.preparation import Preparation

_CODE = "COMPACTION_INVALID_ARGS"
_SOURCES = ("--window", "the transcript", "context.window", "the model")


def decide(options: dict[str, Any]) -> Answer:
    """Whether to compact, and why.

    Raises:
        Failure: what `reading.read` says of a file; COMPACTION_INVALID_ARGS for a reserve that leaves no window.
    """
    settings = config.load()
    transcript = reading.read(options["transcript"], options["client"] or "")
    window, source, reserve = sizes(transcript, options, settings)
    made = decision.decide(transcript, window=window, reserve=reserve)
    result = {
        "transcript": transcript.path,
        "client": transcript.client,
        "compact": made.compact,
        "reason": made.reason,
        "contextTokens": made.context_tokens,
        "source": made.source,
        "usageTokens": made.usage_tokens,
        "estimatedTokens": made.estimated_tokens,
        "staleUsageIgnored": made.stale_usage is not None,
        "staleUsageTokens": made.stale_usage,
        "messagesSinceCompaction": made.messages_since_compaction,
        "threshold": made.threshold,
        "window": made.window,
        "windowFrom": source,
        "reserve": made.reserve,
        "problems": list(transcript.problems),
    }
    return Answer(result, _next(transcript, "prepare") if made.compact else [])


def prepare(options: dict[str, Any]) -> Answer:
    """Where a compaction cuts, and what it takes.

    Raises:
        Failure: as `decide`.
    """
    settings = config.load()
    transcript = reading.read(options["transcript"], options["client"] or "")
    made = prepared(transcript, options, settings)
    window, source, reserve = sizes(transcript, options, settings)
    result: dict[str, Any] = {"transcript": transcript.path, "client": transcript.client}
    if made is None:
        empty = transcript.last_compaction() < 0
        result |= {
            "reason": "empty" if empty else "nothing-since-compaction",
            "firstKeptEntryId": None,
            "isSplitTurn": False,
            "tokensBefore": context.size(transcript).total,
            "previousSummary": None,
            "messagesToSummarize": [],
            "turnPrefixMessages": [],
            "fileOps": _files(file_operations.NONE),
            "settings": {"reserveTokens": reserve, "keepRecentTokens": _keep(options, settings), "window": window},
        }
    else:
        anything = made.entries_to_summarize or made.turn_prefix_entries
        result |= {
            "reason": "ready" if anything else "nothing-to-summarize",
            "firstKeptEntryId": made.first_kept_entry_id,
            "isSplitTurn": made.is_split_turn,
            "tokensBefore": made.tokens_before,
            "previousSummary": made.previous_summary or None,
            "messagesToSummarize": _ids(made.entries_to_summarize),
            "turnPrefixMessages": _ids(made.turn_prefix_entries),
            "fileOps": _files(made.file_ops),
            "settings": made.settings,
        }
    result |= {"windowFrom": source, "problems": list(transcript.problems)}
    return Answer(result, _next(transcript, "summarize") if result["reason"] == "ready" else [])


def serialize(options: dict[str, Any]) -> Answer:
    """The conversation, or a part of it, as flat text.

    Raises:
        Failure: as `decide`.
    """
    transcript = reading.read(options["transcript"], options["client"] or "")
    part = options["part"]
    entries: Iterable[Entry] = transcript.entries
    if part == "context":
        entries = context.entries(transcript)
    elif part == "branch":
        entries = (entry for entry in entries if entry.kind != "compaction")
    else:
        made = prepared(transcript, {**options, "reserve": None, "window": None}, config.load())
        both = (made.entries_to_summarize, made.turn_prefix_entries) if made is not None else ((), ())
        entries = both[0] if part == "summarize" else both[1]
    count = 0

    def counted(entry: Entry) -> Entry:
        nonlocal count
        count += entry.role is not None
        return entry

    text = serialization.serialize(reading.messages(transcript, map(counted, entries)))
    result = {
        "transcript": transcript.path,
        "client": transcript.client,
        "part": part,
        "messages": count,
        "characters": len(text),
        "text": text,
        "problems": list(transcript.problems),
    }
    return Answer(result, text=text if options["raw"] else None)


def branch(options: dict[str, Any]) -> Answer:
    """What is left behind on the way from one entry to another.

    Raises:
        Failure: as `decide`; COMPACTION_INVALID_ARGS without `--to`, ENTRY_UNKNOWN; what the model's command says.
    """
    if not options["to"]:
        raise usage(_CODE, "--to is missing", "give --to ID, the entry that the session goes back to")
    settings = config.load()
    transcript = reading.read(options["transcript"], options["client"] or "")
    budget = options["budget"]
    if budget is None:
        window, _, reserve = sizes(transcript, {"window": None, "reserve": None}, settings)
        budget = window - reserve
    made = branches.prepare(transcript, options["leaf"], options["to"], budget=budget)
    result: dict[str, Any] = {
        "transcript": transcript.path,
        "client": transcript.client,
        "from": made.leaf,
        "to": made.target,
        "commonAncestorId": made.common_ancestor,
        "branchEntries": len(made.entries),
        "entries": _ids(made.chosen),
        "tokens": made.tokens,
        "budget": budget,
        "fileOps": _files(made.file_ops),
    }
    problems = [*transcript.problems, *made.problems]
    result |= _summary(made, options, settings, problems)
    result["problems"] = list(dict.fromkeys(problems))
    return Answer(result)


def sizes(transcript: Transcript, options: dict[str, Any], settings: Config) -> tuple[int, str, int]:
    """The window in tokens, where it was found, and the reserve.

    Raises:
        Failure: COMPACTION_INVALID_ARGS (exit 2), where the reserve is no smaller than the window.
    """
    told = context.size(transcript).from_usage
    candidates = (
        options["window"] or 0,
        transcript.window,
        settings.whole("context.window"),
        context_window(transcript.client, (transcript.model,), told, settings),
    )
    window, source = next((one, name) for one, name in zip(candidates, _SOURCES, strict=True) if one)
    reserve = options["reserve"]
    if reserve is None:
        reserve = settings.whole("compaction.reserve_tokens")
    if reserve >= window:
        raise usage(
            _CODE,
            f"a reserve of {reserve:,} tokens leaves nothing of a window of {window:,} ({source})",
            "give --window N for the model's window, or a smaller --reserve N",
        )
    return window, source, reserve


def prepared(transcript: Transcript, options: dict[str, Any], settings: Config) -> Preparation | None:
    """The preparation with the sizes that the options and the settings ask for; `summarize` begins with it, too."""
    window, _, reserve = sizes(transcript, options, settings)
    return preparation.prepare(transcript, keep_recent=_keep(options, settings), reserve=reserve, window=window)


def _keep(options: dict[str, Any], settings: Config) -> int:
    keep: int | None = options["keep_recent"]
    return settings.whole("compaction.keep_recent_tokens") if keep is None else keep


def _summary(made: branches.Branch, options: dict[str, Any], settings: Config, problems: list[str]) -> dict[str, Any]:
    from session.compaction import summary

    if not made.chosen:
        return {"summary": None, "source": None, "readFiles": [], "modifiedFiles": []}
    found = summary.summarize_messages(
        made.messages,
        made.file_ops,
        instructions=options["instructions"],
        ask=model_command.from_config(settings, options["command"]),
        max_prompt=settings.whole("model.max_prompt_bytes"),
        strict=bool(options["command"]),
        branch=True,
        reserve=settings.whole("compaction.reserve_tokens"),
    )
    problems += found.problems
    return found.json()


def _ids(entries: Iterable[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def _files(ops: FileOperations) -> dict[str, list[str]]:
    return {"read": list(ops.read), "written": list(ops.written), "edited": list(ops.edited)}


def _next(transcript: Transcript, command: str) -> list[NextAction]:
    about = {"description": "the session file", "value": transcript.path, "required": True}
    what = "where it would be cut" if command == "prepare" else "the summary"
    return [
        {
            "command": f"joelclaw compaction {command} <transcript>",
            "description": what,
            "params": {"transcript": about},
        }
    ]
