"""Entries of a Codex rollout (0.169): one after another, without branches."""

from collections.abc import Iterable
from typing import Any

from clients import content
from clients.codex import transcript
from clients.content import rows, string, table, whole
from clients.entry import NO_FILES, Block, Compaction, Entry, FileOperations, Line, Message, Problems, tokens, tokens_of

_READS = ("read_file", "view_image")
_THOUGHTS = ("summary_text", "reasoning_text", "text")
_BEGINS = "Another language model started to solve this problem"
_LONGEST_HEAD = 600


class Reader:
    """Turns the lines of a rollout into entries."""

    def __init__(self) -> None:
        self.model = ""
        self.window = 0
        self._previous = ""
        self._ids: set[str] = set()
        self._rollbacks: dict[str, int] = {}  # entry of a rollback → how many turns it takes back

    def entry(self, line: Line, value: dict[str, Any], _problems: Problems, /) -> Entry | None:
        """The entry of a line, None for repetitions and what is of the screen alone."""
        kind, payload = value.get("type"), table(value.get("payload"))
        own = string(payload.get("id")) if kind == "response_item" else ""
        identifier = own if own and own not in self._ids else f"line-{line.number}"
        bare = Entry(identifier, self._previous, "other", line.number, line.offset, 0)
        made: Entry | None = None
        if kind == "turn_context":
            self.model = string(payload.get("model")) or self.model
        elif kind == "event_msg":
            self.window = transcript.window_of(value) or self.window
            if payload.get("type") == "thread_rolled_back" and (turns := whole(payload.get("num_turns"))):
                self._rollbacks[bare.id] = turns
                made = bare
            elif used := next((item["tokens"] for item in transcript.items(value) if item["kind"] == "usage"), 0):
                made = bare._replace(used=used)
        elif kind == "compacted":
            compaction = Compaction(_bare(string(payload.get("message"))))
            made = bare._replace(kind="compaction", size=line.size, role="compaction_summary", compaction=compaction)
        elif kind == "response_item":
            made = _of_item(bare._replace(kind="message", size=line.size), value, payload)
        if made is not None:
            self._previous = made.id
            self._ids.add(made.id)
        return made

    def branch(self, entries: list[Entry], _tree: dict[str, Entry], _problems: Problems, /) -> list[Entry]:
        """All of them but the turns that were taken back; the newest usage with its answer."""
        found: list[Entry] = []
        for entry in entries:
            if entry.id in self._rollbacks:
                _take_back(found, self._rollbacks[entry.id])
            found.append(entry)
        _place_usage(found)
        return found


def _of_item(made: Entry, value: dict[str, Any], payload: dict[str, Any]) -> Entry | None:
    named = tuple(filter(None, (transcript.call_of(payload),)))
    if payload.get("type") in transcript.CALLS:
        return made._replace(role="assistant", can_cut=True, calls=named, files=_files(payload))
    if payload.get("type") in transcript.OUTPUTS:
        return made._replace(role="tool_result", answers=named)
    said = next(iter(messages(value, made)), None)
    return made._replace(role=said.role, can_cut=True, starts_turn=said.role == "user") if said else None


def size(value: dict[str, Any], entry: Entry) -> int:
    """Estimated tokens of an entry, of a compaction those of the history that it leaves."""
    if entry.role == "compaction_summary":
        return tokens(transcript.context_characters(value))
    return sum(tokens_of(message.blocks) for message in messages(value, entry))


def messages(value: dict[str, Any], entry: Entry) -> Iterable[Message]:
    """The message of an entry; of a compaction the messages of the user that it copied, then the summary."""
    payload = table(value.get("payload"))
    kind, summary = payload.get("type"), string(payload.get("message"))
    if entry.role == "compaction_summary":
        for row in rows(payload.get("replacement_history")):
            for item in transcript.items({"type": "response_item", "payload": row}):
                if item["kind"] == "said" and item["role"] == "user" and item["text"] != summary.strip():
                    yield Message(entry.id, "user", (Block("text", item["text"]),))
        if summary:
            yield Message(entry.id, "compaction_summary", (Block("text", summary),))
    elif kind == "reasoning":
        texts = (content.text_of(payload.get(name), _THOUGHTS) for name in ("summary", "content"))
        if text := next(filter(None, texts), ""):
            yield Message(entry.id, "assistant", (Block("thinking", text),))
    elif kind in transcript.CALLS:
        name = string(payload.get("name")) or "local_shell"
        yield Message(entry.id, "assistant", (Block("tool_call", "", name, _arguments(payload), *entry.calls),))
    else:
        value.pop("timestamp", None)  # reading it takes longer than all the rest, and it is not kept
        for item in transcript.items(value):
            if item["kind"] == "said":
                yield Message(entry.id, item["role"], (Block("text", item["text"]),))
            elif item["kind"] == "outcome":
                blocks = (Block("text", item["text"]),) if item["text"] else ()
                yield Message(entry.id, "tool_result", blocks, call=item["call"], failed=item["failed"])


def _bare(text: str) -> str:
    """A summary without the sentences by which Codex hands it to the model."""
    head, found, rest = text.partition(":\n")
    return rest.strip() if found and text.startswith(_BEGINS) and len(head) < _LONGEST_HEAD else text.strip()


def _place_usage(found: list[Entry]) -> None:
    """Move the newest usage to its answer: it comes when the tools have run, and does not count what they returned.
    When a limit changes it is repeated, of the same answer."""
    newest = next((at for at in range(len(found) - 1, -1, -1) if found[at].used), -1)
    for answer in range(newest - 1, -1, -1):
        if found[answer].role == "assistant":
            found[answer] = found[answer]._replace(used=found[newest].used)
            found[answer + 1 : newest + 1] = [one._replace(used=0) for one in found[answer + 1 : newest + 1]]
        if found[answer].role == "assistant" or found[answer].kind == "compaction":
            return


def _take_back(found: list[Entry], turns: int) -> None:
    """Drop the newest turns, `turns` of them, but nothing from before a compaction."""
    for index in range(len(found) - 1, -1, -1):
        if found[index].kind == "compaction":
            return
        turns -= found[index].starts_turn
        if turns == 0:
            del found[index:]
            return


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    """What a tool was given, plain text under the name `input`."""
    given = transcript.given_to(payload)
    if isinstance(given, dict):
        return given
    return {"input": given} if given else {}


def _files(payload: dict[str, Any]) -> FileOperations:
    name = string(payload.get("name"))
    raw = payload.get("arguments") or payload.get("input")
    if isinstance(raw, str) and name not in _READS and "*** Begin Patch" not in raw:
        return NO_FILES  # most calls: their arguments need not be read
    given = _arguments(payload)
    if name in _READS:
        return FileOperations(read=tuple(content.paths(given, "file_path", "path")))
    return FileOperations(edited=tuple(transcript.files_of(name, given)))
