"""Entries of a Codex rollout (0.169): one after another, without branches.

Messages are read from the response items. A compaction is a `compacted` line, which holds the history that it leaves.
`token_count` events say what the context holds, after the fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from clients import content, tokens
from clients.codex import transcript
from clients.content import parse_timestamp, rows, string, table, whole
from clients.entry import Block, Compaction, Entry, Message, Usage
from clients.file_operations import NONE, FileOperations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.entry import Role
    from clients.lines import Line, Problems

_READS = ("read_file", "view_image")
_NEW_FILE = "*** Add File: "
_BEGINS = "Another language model started to solve this problem"
_LONGEST_HEAD = 600


class Reader:
    """Turns the lines of a rollout into entries."""

    def __init__(self) -> None:
        self.model = ""
        self.window = 0
        self._previous = ""
        self._ids: set[str] = set()
        self._rollbacks: dict[str, int] = {}
        """Entry of a rollback → how many turns it takes back."""

    def entry(self, line: Line, value: dict[str, Any], _problems: Problems, /) -> Entry | None:
        """The entry of a line, None for repetitions and what is of the screen alone."""
        kind, payload = value.get("type"), table(value.get("payload"))
        if kind == "event_msg":
            self.window = transcript.window_of(value) or self.window
        if kind == "turn_context":
            self.model = string(payload.get("model")) or self.model
            return None
        if kind not in ("response_item", "compacted", "event_msg"):
            return None
        made = self._made(line, value, str(kind), payload)
        if made is not None:
            self._previous = made.id
            self._ids.add(made.id)
        return made

    def _made(self, line: Line, value: dict[str, Any], kind: str, payload: dict[str, Any]) -> Entry | None:
        where = (line.number, line.offset)
        own_id = string(payload.get("id")) if kind == "response_item" else ""
        identifier = own_id if own_id and own_id not in self._ids else f"line-{line.number}"
        if kind == "event_msg":
            return self._of_event(line, payload, identifier)
        if kind == "compacted":
            compaction = Compaction(_bare(string(payload.get("message"))))
            role: Role = "compaction_summary"
            return Entry(identifier, self._previous, "compaction", *where, line.size, role, compaction=compaction)
        return _of_item(line, value, payload, identifier, self._previous)

    def _of_event(self, line: Line, payload: dict[str, Any], identifier: str) -> Entry | None:
        if payload.get("type") == "thread_rolled_back":
            turns = whole(payload.get("num_turns"))
            if turns:
                self._rollbacks[identifier] = turns
                return Entry(identifier, self._previous, "other", line.number, line.offset, 0)
            return None
        if payload.get("type") != "token_count":
            return None
        used = table(table(payload.get("info")).get("last_token_usage"))
        total = whole(used.get("total_tokens"))
        if not total:
            return None
        cached = whole(used.get("cached_input_tokens"))
        usage = Usage(
            max(0, whole(used.get("input_tokens")) - cached), whole(used.get("output_tokens")), cached, 0, total
        )
        return Entry(identifier, self._previous, "other", line.number, line.offset, 0, usage=usage)

    def branch(self, entries: list[Entry], _tree: dict[str, Entry], _problems: Problems, /) -> list[Entry]:
        """All of them but the turns that were taken back; the newest usage with its answer."""
        found: list[Entry] = []
        for entry in entries:
            if entry.id in self._rollbacks:
                _take_back(found, self._rollbacks[entry.id])
            found.append(entry)
        _place_usage(found)
        return found


def _of_item(line: Line, value: dict[str, Any], payload: dict[str, Any], identifier: str, parent: str) -> Entry | None:
    kind = payload.get("type")
    where = (line.number, line.offset, line.size)
    call = string(payload.get("call_id")) or string(payload.get("id"))
    if kind in transcript.CALLS:
        calls = (call,) if call else ()
        files = _files(payload)
        return Entry(identifier, parent, "message", *where, "assistant", can_cut=True, calls=calls, files=files)
    if kind in transcript.OUTPUTS:
        return Entry(identifier, parent, "message", *where, "tool_result", answers=(call,) if call else ())
    value.pop("timestamp", None)  # reading it takes longer than all the rest, and it is not kept
    message = next(iter(_items(value, identifier)), None)
    if message is None:
        return None
    is_user = message.role == "user"
    return Entry(identifier, parent, "message", *where, message.role, can_cut=True, starts_turn=is_user)


def size(value: dict[str, Any], entry: Entry) -> int:
    """Estimated tokens of an entry, of a compaction those of the history that it leaves."""
    if entry.role == "compaction_summary":
        return tokens.of_characters(transcript.context_characters(value))
    value.pop("timestamp", None)  # as above
    return sum(tokens.of_blocks(message.blocks) for message in messages(value, entry))


def messages(value: dict[str, Any], entry: Entry) -> Iterable[Message]:
    """The message of an entry."""
    if entry.role == "compaction_summary":
        yield from _history(value, entry.id)
        return
    yield from _items(value, entry.id)


def _bare(text: str) -> str:
    """A summary without the sentences by which Codex hands it to the model."""
    head, found, rest = text.partition(":\n")
    return rest.strip() if found and text.startswith(_BEGINS) and len(head) < _LONGEST_HEAD else text.strip()


def _history(value: dict[str, Any], identifier: str) -> Iterable[Message]:
    """What a compaction left: the messages of the user that it copied, then the summary."""
    payload = table(value.get("payload"))
    summary = string(payload.get("message"))
    at = parse_timestamp(value.get("timestamp"))
    for row in rows(payload.get("replacement_history")):
        for item in transcript.items({"type": "response_item", "payload": row}):
            if item["kind"] == "said" and item["role"] == "user" and item["text"] != summary.strip():
                yield Message(identifier, "user", (Block("text", item["text"]),), at)
    if summary:
        yield Message(identifier, "compaction_summary", (Block("text", summary),), at)


def _place_usage(found: list[Entry]) -> None:
    """Move the newest usage to its answer: it comes when the tools have run, and does not count what they returned."""
    newest = next((at for at in range(len(found) - 1, -1, -1) if found[at].usage is not None), -1)
    for at in range(newest - 1, -1, -1):
        if found[at].kind == "compaction":
            return
        if found[at].role == "assistant":
            found[at] = found[at]._replace(usage=found[newest].usage)
            found[newest] = found[newest]._replace(usage=None)
            # It is repeated when a limit changes, of the same answer.
            for other in range(at + 1, newest):
                if found[other].usage is not None:
                    found[other] = found[other]._replace(usage=None)
            return


def _take_back(found: list[Entry], turns: int) -> None:
    """Drop the newest turns, `turns` of them, but nothing from before a compaction."""
    for index in range(len(found) - 1, -1, -1):
        if found[index].kind == "compaction":
            return
        if found[index].starts_turn:
            turns -= 1
            if turns == 0:
                del found[index:]
                return


def _items(value: dict[str, Any], identifier: str) -> Iterable[Message]:
    payload = table(value.get("payload"))
    kind = payload.get("type")
    at = parse_timestamp(value.get("timestamp"))
    if kind == "reasoning":
        texts = [string(part.get("text")) for part in rows(payload.get("summary"))]
        texts = texts if any(texts) else [string(part.get("text")) for part in rows(payload.get("content"))]
        blocks = tuple(Block("thinking", text) for text in texts if text)
        if blocks:
            yield Message(identifier, "assistant", blocks, at)
    elif kind in transcript.CALLS:
        call = string(payload.get("call_id")) or string(payload.get("id"))
        name = string(payload.get("name")) or "local_shell"
        yield Message(identifier, "assistant", (Block("tool_call", "", name, _arguments(payload), call),), at)
    else:
        for item in transcript.items(value):
            if item["kind"] == "said":
                yield Message(identifier, item["role"], (Block("text", item["text"]),), at)
            elif item["kind"] == "outcome":
                blocks = (Block("text", item["text"]),) if item["text"] else ()
                yield Message(identifier, "tool_result", blocks, at, call=item["call"], failed=item["failed"])


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    """What a tool was given, plain text under the name `input`."""
    given = payload.get("action") if payload.get("type") == "local_shell_call" else payload.get("arguments")
    if given is None:
        given = payload.get("input")
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            given = orjson.loads(given)
        except orjson.JSONDecodeError:
            pass
    if isinstance(given, dict):
        return given
    return {"input": given} if given else {}


def _files(payload: dict[str, Any]) -> FileOperations:
    name = string(payload.get("name"))
    raw = payload.get("arguments") or payload.get("input")
    if isinstance(raw, str) and name not in _READS and "*** Begin Patch" not in raw:
        return NONE  # most calls: their arguments need not be read
    given = _arguments(payload)
    if name in _READS:
        return FileOperations(read=tuple(content.paths(given, "file_path", "path")))
    paths = transcript.files_of(name, given)
    if not paths:
        return NONE
    text = "\n".join(_texts(given))
    new = [path for path in paths if f"{_NEW_FILE}{path}\n" in text]
    return FileOperations(written=tuple(new), edited=tuple(path for path in paths if path not in new))


def _texts(given: dict[str, Any]) -> Iterable[str]:
    for value in given.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))
