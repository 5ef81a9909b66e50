"""Entries of a pi session (versions 2 and 3): a header, then a tree of entries that name their parent.

Sizes, cut points and files follow pi 0.73.1 to the token; `tests/e2e/test_compaction_like_pi.py` compares them.
"""

from collections.abc import Iterable
from typing import Any

from clients import entry as session_tree
from clients.content import string, table, whole
from clients.entry import Block, Compaction, Entry, FileOperations, Line, Message, Problems, Role, blocks_of, tokens_of
from clients.pi.transcript import UNFINISHED

KNOWN_VERSIONS = (2, 3)  # forms of session files that are known here; another one is read as the newest
BY = "joelclaw"  # stands in the details of a summary that our extension handed over
_USES = {"read": "read", "write": "written", "edit": "edited"}
_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool_result",
    "bashExecution": "bash",
    "custom": "custom",
    "hookMessage": "custom",  # its name before version 3
    "branchSummary": "branch_summary",
    "compactionSummary": "compaction_summary",
}
_TEXTS: dict[Role | None, tuple[str, ...]] = {
    "bash": ("command", "output"), "branch_summary": ("summary",), "compaction_summary": ("summary",),
}  # fmt: skip


class Reader:
    """Turns the lines of a session into entries."""

    def __init__(self) -> None:
        self.model = ""
        self.window = 0
        self.cwd = ""

    def entry(self, line: Line, value: dict[str, Any], problems: Problems, /) -> Entry | None:
        """The entry of a line, None for the header and what is none."""
        kind = string(value.get("type"))
        if kind == "session":
            self.cwd, version = string(value.get("cwd")), whole(value.get("version")) or 1
            if version not in KNOWN_VERSIONS:
                problems.append(f"the session has version {version}; it was read as version {KNOWN_VERSIONS[-1]}")
            return None
        identifier = string(value.get("id"))
        if not identifier:
            problems.append(f"line {line.number} is an entry without an id")
            return None
        made = Entry(identifier, string(value.get("parentId")), "other", line.number, line.offset, 0)
        if kind == "message":
            return self._of_message(made, line, table(value.get("message")), problems)
        if kind not in ("custom_message", "branch_summary", "compaction"):
            return made
        # Another extension's list of files has a form of its own (`fromHook` is pi's name for it).
        details, summary = table(value.get("details")), string(value.get("summary"))
        files = FileOperations()
        if not value.get("fromHook") or details.get("by") == BY:  # nobody knows any more which were written whole
            files = FileOperations(_strings(details.get("readFiles")), (), _strings(details.get("modifiedFiles")))
        made = made._replace(size=line.size, files=files)
        if kind == "compaction":
            kept = string(value.get("firstKeptEntryId"))
            compaction = Compaction(summary, kept, whole(value.get("tokensBefore")))
            return made._replace(kind="compaction", role="compaction_summary", compaction=compaction)
        if kind == "custom_message":
            return made._replace(kind="custom_message", role="custom", can_cut=True, starts_turn=True)
        count = -1 if summary else 0
        return made._replace(kind="branch_summary", role="branch_summary", tokens=count, can_cut=True, starts_turn=True)

    def branch(self, entries: list[Entry], tree: dict[str, Entry], problems: Problems, /) -> list[Entry]:
        """The branch of what was appended last."""
        return session_tree.path_to(entries[-1].id, tree, problems) if entries else []

    def _of_message(self, made: Entry, line: Line, message: dict[str, Any], problems: Problems) -> Entry:
        role = _ROLES.get(string(message.get("role")))
        if role is None:
            problems.append(f"line {line.number} is a message of the unknown role {message.get('role')!r:.40}")
            return made._replace(kind="message")
        starts = role in ("user", "bash")
        made = made._replace(
            kind="message", size=line.size, role=role, can_cut=role != "tool_result", starts_turn=starts
        )
        if role == "assistant":
            self.model = string(message.get("model")) or self.model
            calls, files = session_tree.calls_in(message.get("content"), _USES, "path")
            return made._replace(used=_used(message), calls=calls, files=files)
        call = string(message.get("toolCallId")) if role == "tool_result" else ""
        return made._replace(answers=(call,)) if call else made


def messages(value: dict[str, Any], entry: Entry) -> Iterable[Message]:
    """The message of an entry."""
    message = table(value.get("message")) if entry.kind == "message" else value
    if entry.role in ("branch_summary", "compaction_summary"):
        yield Message(entry.id, entry.role, (Block("text", string(message.get("summary"))),))
    elif entry.role == "bash":
        excluded = message.get("excludeFromContext") is True
        yield Message(entry.id, "bash", (Block("text", _bash_text(message)),), excluded=excluded)
    elif entry.role is not None:
        call, failed = string(message.get("toolCallId")), message.get("isError") is True
        yield Message(entry.id, entry.role, blocks_of(message.get("content")), call=call, failed=failed)


def size(value: dict[str, Any], entry: Entry) -> int:
    """Estimated tokens of an entry; what the user says has no size for its images, as pi counts."""
    message = table(value.get("message")) if entry.kind == "message" else value
    if entry.role in _TEXTS:
        return tokens_of(Block("text", string(message.get(name))) for name in _TEXTS[entry.role])
    return tokens_of(blocks_of(message.get("content")), images=entry.role in ("tool_result", "custom"))


def _used(message: dict[str, Any]) -> int:
    """What an answer tells of the context. A provider that counts no tokens writes zeros: that tells nothing."""
    if message.get("stopReason") in UNFINISHED:
        return 0
    used = table(message.get("usage"))
    parts = sum(whole(used.get(name)) for name in ("input", "output", "cacheRead", "cacheWrite"))
    return whole(used.get("totalTokens")) or parts


def _strings(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in value if isinstance(one, str))) if isinstance(value, list) else ()


def _bash_text(message: dict[str, Any]) -> str:
    """A command that the user ran, as the model sees it."""
    output = string(message.get("output"))
    text = f"Ran `{string(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code, path = message.get("exitCode"), string(message.get("fullOutputPath"))
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    return f"{text}\n\n[Output truncated. Full output: {path}]" if message.get("truncated") and path else text
