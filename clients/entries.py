"""Entries: the form into which the transcripts of all clients are read. Hot path.

A client's `entries(line)` turns one line of its transcript into entries. The first is the line's node in the session's
tree (`id`, `parent`); the others are what the line also holds: tool calls, their results, edits, plans, usage. The
archive, the context usage, the compaction tools and `lost` all read this form.
"""

from __future__ import annotations

from clients.content import as_object, as_objects, as_text, paths, positive_int, without_ours
from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal

    Kind = Literal[
        "prompt", "answer", "call", "result", "edit", "process_end", "turn_end", "plan", "queue", "usage",
        "compaction", "summary", "history", "rollback", "shell", "note", "branch_summary", "system", "context_edit",
        "title", "node",
    ]  # fmt: skip
    """prompt, answer: what the user and the agent said; an answer's text is empty if it only calls tools.
    process_end: a process in the background has ended. queue: what the user types while a turn runs.
    history: the client has written its whole history again. rollback: the user took the last `turns` back, or
    everything from the entry `rewound_to` on.
    shell: a command that the user ran. note: a message of neither the user nor the agent, but of its `origin`.
    system: the client's own instructions.
    title: the session's name, chosen by its `origin`.
    context_edit: the model no longer sees an entry, or sees other content in its place (None: nothing).
    node: a line without content."""

    Origin = Literal["", "teammate", "subagent", "client", "user"]
    """The author of a note: another agent of the team, a subagent, or the client; "" for an extension, whose notes are
    not archived. The author of a title is the client or the user."""

    SessionKind = Literal["", "fork", "subagent", "review"]

COMMAND_KEYS = ("command", "cmd")


class Entry:
    """One entry of a session. Empty, None, zero or False means that the client does not say."""

    id = ""  # of the node in the session's tree
    parent = ""  # id of the node before it on its branch; of a title: of an entry of the session that it names
    stable_id = ""  # of a prompt or answer, unique over all sessions
    session = ""  # the session that the line names
    copied_from = ""  # the session whose line a fork copied
    parent_session = ""  # the session that started this session
    session_kind: SessionKind = ""  # why it was started; "" if the user began it, or the line does not say
    folder = ""  # the folder that the session works in
    remote = ""  # URL of the repository around that folder
    is_side: bool | None = None  # said by a subagent, or not
    is_meta = False  # not said here: added or copied by the client, or kept from the model; never archived
    text = ""  # of the prompt, answer, result, summary or note
    origin: Origin = ""  # of a note or title
    content: Any = None  # what the model sees of it, as the client wrote it
    # of a call
    call = ""  # also of its result, edits and plan: the client's id of the call
    part = 0  # number of the call in a script that made it, from 1
    tool = ""
    command = ""
    given: Any = None  # the input of the tool
    files: Sequence[str] = ()  # written or edited; of a summary: listed as such
    read_files: Sequence[str] = ()
    whole = False  # of a call: it writes whole files; of a plan: the steps are all that there are
    first_line = 0  # with which the output shows the file, if it shows lines without their numbers
    # the background process that a call asks for, that goes on after a result, or that has ended
    process = ""
    # of a result
    failed: bool | None = False  # None: the outcome is unknown, for example of a process that was stopped
    kept_in = ""  # the file with the whole output, if the client keeps only its beginning in the transcript
    unrun = False  # the call was rejected or interrupted, so that nothing came of it
    results: Sequence[Entry] = ()  # of a script: what its calls returned, as far as it printed that
    hunks: Sequence[Hunk] = ()  # of an edit
    steps: Sequence[Step] = ()  # of a plan
    operation = ""  # of a queue: enqueue, remove (handed to the model), dequeue (follows), popAll (taken back)
    # of usage
    tokens = 0  # of the context: input, cache read and cache write
    tokens_used = 0  # the same with the answer itself, if pi's rules need it
    window = 0  # tokens; the model's context window
    model = ""
    # of a compaction
    tokens_after = 0
    first_kept = ""  # id of the oldest entry that the client kept as it was
    turns = 0  # of a rollback
    rewound_to = ""  # of a rollback: id of the first entry that was taken back
    edits = ""  # of a context_edit: id of the entry that the model sees differently
    is_stop = False  # of a turn_end: the agent ended it by itself, whether with an answer or not

    def __init__(self, kind: Kind, at: int | None = None, **fields: Any) -> None:
        self.kind = kind
        self.at = at  # ms since the epoch
        self.__dict__.update(fields)

    @property
    def target(self) -> str:
        """The file that a call works on, as the client names it; "" if it names none."""
        keys = ("file_path", "path", "notebook_path", "absolute_path", "filePath")
        named = self.files or self.read_files or paths(self.given, *keys)
        return named[0] if named else ""


class Step:
    """A step of a plan; an empty field is unchanged. An empty id adds a step."""

    __slots__ = ("id", "status", "text")

    def __init__(self, identifier: str, text: str, status: str) -> None:
        self.id = identifier
        self.text = text
        self.status = status  # pending, in_progress, completed, or the client's own word


class Hunk:
    """Neighbouring lines that an edit changed."""

    __slots__ = ("file", "signs", "start", "text")

    def __init__(self, file: str, start: int, lines: list[tuple[str, str]]) -> None:
        self.file = file
        self.start = start  # number of the first line after the edit
        self.signs = "".join([sign for sign, _ in lines])  # of each line: "+", "-" or " "
        self.text = "\n".join([text for sign, text in lines if sign != "-"])  # the lines after the edit

    def changed_lines(self) -> tuple[int, int]:
        """The first and the last new line. If the hunk only deletes lines, both are the line after the gap."""
        number = self.start
        first = last = 0
        for sign in self.signs:
            if sign != " ":
                first, last = first or number, max(last, number)
            number += sign != "-"
        return first, last


def in_envelope(entries: list[Entry], line: dict[str, Any], at: int | None, *, client: str = "") -> list[Entry]:
    """As `with_node`, for a line of Claude Code's form: it names its session, its folder and the session it is from."""
    entries = with_node(entries, at, line.get("uuid"), line.get("parentUuid"), client=client)
    head = entries[0]
    head.session, head.folder = as_text(line.get("sessionId")), as_text(line.get("cwd"))
    head.copied_from = head.parent_session = as_text(as_object(line.get("forkedFrom")).get("sessionId"))
    head.session_kind = "fork" if head.parent_session else ""
    return entries


def with_node(
    entries: list[Entry], at: int | None, identifier: object = "", parent: object = "", *, client: str = ""
) -> list[Entry]:
    """The entries of a line, the first as its node in the tree; without entries a node without content.

    `client`: whose ids are unique, so that a prompt or answer gets a stable id.
    """
    entries = entries or [Entry("node", at)]
    head = entries[0]
    head.at = at
    head.id = as_text(identifier)
    head.parent = as_text(parent)
    if client and head.id and head.kind in ("prompt", "answer"):
        head.stable_id = f"{client}:{head.id}"
    return entries


def call_entry(call: object, tool: str, given: object, files: list[str], command: object = "", **fields: Any) -> Entry:
    """A tool call; `files` are those that it writes. A shell of an MCP server counts as a command."""
    if not command and tool.startswith("mcp__"):
        commands = (as_text(as_object(given).get(key)) for key in COMMAND_KEYS)
        command = next((text for text in commands if " " in text), "")
    return Entry("call", call=as_text(call), tool=tool, given=given, files=files, command=as_text(command), **fields)


def result_entry(call: object, text: str, failed: bool, content: object = None) -> Entry:
    """What a call returned."""
    content = text if content is None else content
    return Entry("result", call=as_text(call), text=without_ours(text), failed=failed, content=content)


def process_end(process: str, text: str, failed: bool | None) -> Entry:
    """That a background process has ended; `failed` is None if it was stopped."""
    return Entry("process_end", process=process, text=text, failed=failed)


def summary_entry(text: str, at: int | None) -> Entry:
    """What a client keeps in place of the messages before a compaction."""
    return Entry("summary", at, text=text, content=text)


def usage_entries(used: object, names: Iterable[str], model: object = "", window: int = 0) -> list[Entry]:
    """How full the context was, by the sum of the named numbers; nothing if that is unknown."""
    tokens = sum(positive_int(as_object(used).get(name)) for name in names)
    return [Entry("usage", tokens=tokens, model=as_text(model), window=window)] if tokens or window else []


def diff_entries(call: object, file: str, diff: object) -> list[Entry]:
    """What a call changed in a file, by a unified diff."""
    return edit_entries(call, diff_hunks(file, as_text(diff)))


def edit_entries(call: object, hunks: list[Hunk], max_hunks: int = 60) -> list[Entry]:
    """What a call changed in files: its first hunks; nothing if it changed no line."""
    return [Entry("edit", call=as_text(call), hunks=hunks[:max_hunks])] if hunks else []


def plan_entries(call: object, steps: object, *text_keys: str) -> list[Entry]:
    """A plan that a call was given as a list of steps; nothing if it is none."""
    named: list[Step] = []
    for number, row in enumerate(as_objects(steps), 1):
        if text := next((as_text(row.get(key)) for key in text_keys if row.get(key)), ""):
            named.append(Step(str(number), text, as_text(row.get("status"))))
    return [Entry("plan", call=as_text(call), whole=True, steps=named)] if named or steps == [] else []


def content_hunks(file: str, text: str, max_lines: int = 2000) -> list[Hunk]:
    """A file that was written as a whole: its first lines."""
    lines = text.removesuffix("\n").split("\n", max_lines)[:max_lines]
    return [Hunk(file, 1, [("+", line) for line in lines])] if file and text else []


def diff_hunks(file: str, diff: str) -> list[Hunk]:
    """A unified diff of one file."""
    found: list[tuple[int, list[tuple[str, str]]]] = []
    left = 0
    for line in diff.split("\n"):
        if line.startswith("@@ "):
            start, left = hunk_at(line)
            found.append((start + (left == 0), []))
        elif found and (line[:1] in "+- " if line else left):  # an empty line may have lost its space
            left -= line[:1] != "-"
            found[-1][1].append((line[:1] or " ", line[1:]))
    hunks = (Hunk(file, start, lines) for start, lines in found if start)
    return [hunk for hunk in hunks if hunk.signs.strip()]


def hunk_at(header: str) -> tuple[int, int]:
    """The first line and the number of lines that a hunk has in the new file, from its header `@@ -1,2 +1,3 @@`."""
    start, comma, count = header.partition("+")[2].partition(" ")[0].partition(",")
    if not start[:8].isdecimal() or not (count or "1")[:8].isdecimal():
        return 0, 0
    return int(start[:8]), int(count[:8]) if comma else 1
