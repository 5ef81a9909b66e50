"""`joelclaw compaction decide`, `prepare`, `serialize`, `summarize` and `branch`: a compaction outside the client."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import clients
from cli.answer import Answer, step
from core import config, files
from core.errors import Failure, usage
from session.compaction import preparation, session_tree, summary, summary_form
from session.compaction.messages import messages_of
from session.compaction.preparation import Limits, Preparation
from session.compaction.session_tree import Node

_NOTHING_YET = "there is nothing to compact yet: this summarizes the whole conversation"
_QUOTED = "--instructions only affects a model's summary; this one quotes the transcript"


class _Session:
    """The session that is asked about, with our settings and what its client's own say of compactions."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.transcript = session_tree.read(options["transcript"], options["client"] or "", options.get("at") or "")
        self.settings = config.load()
        client = clients.row(self.transcript.client).compaction(self.transcript.cwd or files.current_folder())
        self.settings.suggest("compaction.reserve_tokens", client["reserve"])
        self.settings.suggest("compaction.keep_recent_tokens", client["keep"])
        keep = options.get("keep_recent")
        self.keep_recent = self.settings.get_int("compaction.keep_recent_tokens") if keep is None else keep
        self.is_enabled = client["enabled"]
        self.problems = list(self.transcript.problems)
        self.problems += [f"{path} is left out: it {reason}" for path, reason in client["dropped"]]
        self.about: dict[str, Any] = {"transcript": self.transcript.path, "client": self.transcript.client}

    def limits(self) -> Limits:
        """Raises a Failure, COMPACTION_INVALID_ARGS, for a reserve that leaves no window."""
        window, reserve = self.options.get("window"), self.options.get("reserve")
        return preparation.limits_of(self.transcript, self.settings, window=window, reserve=reserve)

    def prepared(self) -> Preparation:
        """Where it is cut."""
        return preparation.prepare(self.transcript, keep_recent=self.keep_recent)

    def model(self) -> summary.Model:
        """Who writes a summary, and what it is told; a command that the user named must be there."""
        from core.process.command import model_from_config  # loads subprocess, which the other steps need not

        command: str = self.options["command"]
        ask = model_from_config(self.settings, command)
        room = self.settings.get_int("model.max_prompt_bytes")
        return summary.Model(ask, self.options["instructions"], room, strict=bool(command.strip()))

    def next(self, command: str, description: str) -> Any:
        """A command on the same file."""
        about = {"description": "the session file", "value": self.transcript.path, "required": True}
        return step(f"joelclaw compaction {command} <transcript>", description, {"transcript": about})


def decide(options: dict[str, Any]) -> Answer:
    """Whether to compact, and why."""
    asked = _Session(options)
    limits, size = asked.limits(), preparation.context_size(asked.transcript)
    window, reserve = limits.window, limits.reserve
    reason = preparation.reason(asked.transcript, window=window, reserve=reserve, enabled=asked.is_enabled)
    compact = reason == "above-threshold"
    result = {
        **asked.about,
        "compact": compact,
        "reason": reason,
        "contextTokens": size.total,
        "source": "usage" if size.from_usage else "estimate",
        "usageTokens": size.from_usage,
        "estimatedTokens": size.estimated,
        "staleUsageIgnored": size.stale is not None,
        "staleUsageTokens": size.stale,
        "messagesSinceCompaction": preparation.said_since_compaction(asked.transcript),
        "threshold": window - reserve,
        "window": window,
        "windowFrom": limits.window_from,
        "reserve": reserve,
        "enabled": asked.is_enabled,
        "problems": asked.problems,
    }
    return Answer(result, [asked.next("prepare", "where it would be cut")] if compact else [])


def prepare(options: dict[str, Any]) -> Answer:
    """Where a compaction cuts, and what it takes."""
    asked = _Session(options)
    limits, made, keep = asked.limits(), asked.prepared(), asked.keep_recent
    result = {
        **asked.about,
        "reason": made.reason,
        "firstKeptEntryId": made.first_kept_entry_id,
        "isSplitTurn": made.is_split_turn,
        "tokensBefore": made.tokens_before,
        "previousSummary": made.previous_summary or None,
        "messagesToSummarize": _ids(made.entries_to_summarize),
        "turnPrefixMessages": _ids(made.turn_prefix_entries),
        "fileOps": asdict(made.file_ops),
        "settings": {"reserveTokens": limits.reserve, "keepRecentTokens": keep, "window": limits.window},
        "windowFrom": limits.window_from,
        "problems": asked.problems,
    }
    return Answer(result, [asked.next("summarize", "the summary")] if made.reason == "ready" else [])


def serialize(options: dict[str, Any]) -> Answer:
    """The conversation, or a part of it, as flat text."""
    asked = _Session(options)
    part = options["part"]
    entries: Iterable[Node]
    if part == "context":
        entries = preparation.context_entries(asked.transcript)
    elif part == "branch":
        entries = [entry for entry in asked.transcript.nodes if entry.kind != "compaction"]
    else:
        made = asked.prepared()
        entries = made.entries_to_summarize if part == "summarize" else made.turn_prefix_entries
    text = summary_form.serialize(messages_of(asked.transcript, entries))
    result = {
        **asked.about,
        "part": part,
        "messages": sum(entry.role is not None for entry in entries),
        "characters": len(text),
        "text": text,
        "problems": asked.problems,
    }
    return Answer(result, text=text if options["raw"] else None)


def summarize(options: dict[str, Any]) -> Answer:
    """What a compaction would put in the place of what it drops; the whole session summed up where it drops nothing."""
    asked = _Session(options)
    limits, prepared, problems = asked.limits(), asked.prepared(), asked.problems
    is_ready = prepared.reason == "ready"
    if is_ready:
        parts, done, reserve = summary.parts_of(prepared), prepared.file_ops, limits.reserve
    else:
        problems.append(_NOTHING_YET)
        messages = summary.spoken(messages_of(asked.transcript, asked.transcript.nodes))
        if not any(block.text.strip() or block.name for message in messages for block in message.blocks):
            fix = "name a session with messages"
            raise Failure("TRANSCRIPT_EMPTY", f"nothing was said in {asked.transcript.path}", fix)
        parts, reserve = [summary.Part("history", messages)], 0
        done = session_tree.together(entry.files for entry in asked.transcript.nodes)
    made = summary.summarize(parts, done, asked.model(), reserve=reserve)
    if made["source"] == "extractive" and options["instructions"].strip():
        problems.append(_QUOTED)
    result = {
        **made,
        "firstKeptEntryId": prepared.first_kept_entry_id if is_ready else None,
        "tokensBefore": prepared.tokens_before if is_ready else None,
        "isSplitTurn": is_ready and prepared.is_split_turn,
        "problems": [*problems, *made["problems"]],
    }
    return Answer(result, text=made["summary"] if options["raw"] else None)


def branch(options: dict[str, Any]) -> Answer:
    """What is left behind on the way from one entry to another."""
    if not options["to"]:
        fix = "give --to ID, the entry to go back to"
        raise usage("COMPACTION_INVALID_ARGS", "--to is missing", fix)
    asked = _Session(options)
    budget = options["budget"]
    if budget is None:
        limits = asked.limits()
        budget = limits.window - limits.reserve
    found = preparation.prepare_branch(asked.transcript, options["leaf"], options["to"], budget=budget)
    result: dict[str, Any] = {
        **asked.about,
        "from": found.leaf,
        "to": options["to"],
        "commonAncestorId": found.common_ancestor,
        "branchEntries": len(found.entries),
        "entries": _ids(found.chosen),
        "tokens": found.tokens,
        "budget": budget,
        "fileOps": asdict(found.file_ops),
        "summary": None,
        "source": None,
        "readFiles": [],
        "modifiedFiles": [],
        "problems": [],
    }
    if found.chosen:
        messages = messages_of(asked.transcript, reversed(found.chosen))
        parts = [summary.Part("branch", summary.spoken(messages))]
        reserve = asked.settings.get_int("compaction.reserve_tokens")
        result |= summary.summarize(parts, found.file_ops, asked.model(), reserve=reserve)
    result["problems"] = list(dict.fromkeys([*asked.problems, *found.problems, *result["problems"]]))
    return Answer(result)


def _ids(entries: Iterable[Node]) -> list[str]:
    return [entry.id for entry in entries]
