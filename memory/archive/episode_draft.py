"""Drafts of episodes: a transcript's items become one draft per message.

A draft holds redacted, bounded strings only. Drafts that later items may still change (their tools are running) are
stored as JSON between two calls: the carry. Hot path.
"""

from __future__ import annotations

from core import ids
from core.redaction import redact
from core.words import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from clients.event import Item, Outcome, Said, Tool

    class Draft(TypedDict):
        """An episode in the making; `tools` are [key of the call, its line, what came of it]."""

        id: str
        role: str
        body: str
        tools: list[list[str]]
        prompt: str
        before: str
        after: str
        at: int | None

    class Carry(TypedDict):
        """What outlives a batch: the prompt of the turn, and the drafts that may still change, the last one last."""

        prompt: str
        drafts: list[Draft]


BODY_CHARS = 4000
"""Of a message: what is longer keeps its head and its tail."""
PROMPT_CHARS = 500
NEIGHBOUR_CHARS = 300
OUTCOME_CHARS = 200
_TAIL_CHARS = 1500
_LINE_CHARS = 400
_MOST_TOOLS = 24
_MOST_FILES = 12
_MOST_DRAFTS = 32
_MOST_CARRIED_CHARS = 48_000
_LONGEST_ID = 200
# What is cut before redaction is cut this far from what is kept, so that no half of a secret escapes its pattern
# (the longest, a private key, reaches 20,000 characters).
_MARGIN = 24_000
_OUTCOME_MARGIN = 4000
_CUT = "\n[…]\n"


def new_carry() -> Carry:
    """The carry at the start of a transcript."""
    return {"prompt": "", "drafts": []}


def text_of(draft: Draft) -> str:
    """The episode's text: who said what, each tool call on a line of its own, and under it what came of it."""
    return f"{draft['role']}: {_shown(draft)}"


def context_of(draft: Draft) -> str:
    """The prompt of the turn and both neighbours; it grows at its end only."""
    parts = [draft["prompt"], draft["before"] if draft["before"] != draft["prompt"] else "", draft["after"]]
    return "\n".join(part for part in parts if part)


def _shown(draft: Draft) -> str:
    parts = [draft["body"]] if draft["body"] else []
    for _, line, outcome in draft["tools"]:
        parts.append(line)
        if outcome:
            parts.append(outcome)
    return "\n".join(parts)


class Drafting:
    """Turns items, in order, into drafts.

    Args:
        carry: of the items before; it is changed.
        session: for the ids of messages that have none.
    """

    __slots__ = ("_by_id", "_carry", "_session", "changed")

    def __init__(self, carry: Carry, session: str) -> None:
        self._carry = carry
        self._session = session
        self._by_id: dict[str, Draft] = {draft["id"]: draft for draft in carry["drafts"]}
        self.changed: dict[str, Draft] = {}
        """By id, those that are new or say more than before."""

    def add(self, item: Item, line: bytes, number: int) -> None:
        """Add one item, the `number`th of its line of the transcript."""
        if item["kind"] == "said":
            self._said(item, line, number)
        elif item["kind"] == "outcome":
            self._outcome(item)

    def _said(self, said: Said, line: bytes, number: int) -> None:
        body = bounded(said["text"])
        tools = [[_call_key(tool["call"]), _line_of(tool), ""] for tool in said["tools"][:_MOST_TOOLS]]
        if not body and not tools:
            return
        identifier = identifier_of(said, self._session, line, number)
        earlier = self._by_id.get(identifier)
        if earlier is not None:
            self._grown(earlier, body, tools)
            return
        drafts = self._carry["drafts"]
        draft: Draft = {
            "id": identifier,
            "role": "user" if said["role"] == "user" else "assistant",
            "body": body,
            "tools": tools,
            "prompt": "" if said["role"] == "user" else self._carry["prompt"],
            "before": "",
            "after": "",
            "at": said["at"],
        }
        shown = _shown(draft)
        if drafts:
            last = drafts[-1]
            draft["before"] = _shown(last)[:NEIGHBOUR_CHARS]
            last["after"] = shown[:NEIGHBOUR_CHARS]
            self.changed[last["id"]] = last
        if draft["role"] == "user":
            self._carry["prompt"] = body[:PROMPT_CHARS]
        drafts.append(draft)
        self._by_id[identifier] = self.changed[identifier] = draft

    def _grown(self, draft: Draft, body: str, tools: list[list[str]]) -> None:
        """The same message again, as clients write it that save a message while it grows."""
        outcomes = {call: outcome for call, _, outcome in draft["tools"] if call}
        for tool in tools:
            tool[2] = outcomes.get(tool[0], "")
        if len(tools) < len(draft["tools"]):
            tools = draft["tools"]
        body = body or draft["body"]
        if body != draft["body"] or tools != draft["tools"]:
            draft["body"], draft["tools"] = body, tools
            if draft["role"] == "user":
                self._carry["prompt"] = body[:PROMPT_CHARS]
            self.changed[draft["id"]] = draft

    def _outcome(self, outcome: Outcome) -> None:
        call = _call_key(outcome["call"])
        for draft in reversed(self._carry["drafts"]):
            for tool in draft["tools"]:
                if tool[0] == call and not tool[2]:
                    # A call that has its outcome waits no longer, even where that is empty.
                    tool[2] = outcome_line(outcome["text"], outcome["failed"]) or "(no output)"
                    self.changed[draft["id"]] = draft
                    return

    def trim(self) -> None:
        """Drop from the carry what can change no more, and the oldest of what is too much to keep."""
        drafts = self._carry["drafts"]
        kept = [draft for draft in drafts[:-1] if any(tool[0] and not tool[2] for tool in draft["tools"])]
        kept = [*kept, *drafts[-1:]][-_MOST_DRAFTS:]
        total = 0
        for place in range(len(kept) - 1, -1, -1):
            total += len(text_of(kept[place])) + len(context_of(kept[place]))
            if total > _MOST_CARRIED_CHARS and place < len(kept) - 1:
                kept = kept[place + 1 :]
                break
        self._carry["drafts"] = kept
        self._by_id = {draft["id"]: draft for draft in kept}
        self.changed = {}


def identifier_of(said: Said, session: str, line: bytes, number: int) -> str:
    """The message's own id, else one made of its session and its line; a secret-like or long one as a hash."""
    given = said["id"]
    if not given:
        about = line.decode("utf-8", "replace") if line else f"{said['role']}\0{said['text']}\0{said['at']}"
        return "ep-" + ids.fingerprint(f"{session}\0{number}\0{about}")
    plain = clean(given).replace("\0", "\ufffd")
    if plain != given or len(plain) > _LONGEST_ID or plain.split() != [plain] or redact(plain)[1]:
        return "ep-" + ids.fingerprint(given)
    return plain


def bounded(text: str) -> str:
    """A message without secrets, its middle left out where it is too long."""
    text = text.strip()
    if len(text) > 2 * _MARGIN + BODY_CHARS:
        # Behind the kept parts stands a margin, so that what is cut here can hide no secret in them.
        head, tail = _plain(text[: BODY_CHARS + _MARGIN]), _plain(text[-_TAIL_CHARS - _MARGIN :])
    else:
        text = _plain(text)
        if len(text) <= BODY_CHARS:
            return text
        head = tail = text
    return head[: BODY_CHARS - _TAIL_CHARS].rstrip() + _CUT + tail[-_TAIL_CHARS:].lstrip()


def outcome_line(text: str, failed: bool) -> str:
    """The first lines of what a tool returned; of a failure the end too, where the error mostly is."""
    head = _plain(text[:_OUTCOME_MARGIN].strip())
    mark = "failed: " if failed else ""
    if failed and len(text) > OUTCOME_CHARS:
        tail = _plain(text[-_OUTCOME_MARGIN:].strip())
        half = (OUTCOME_CHARS - len(mark)) // 2
        return f"{mark}{head[:half].rstrip()} … {tail[3 - half :].lstrip()}"
    kept = head[: OUTCOME_CHARS - len(mark)].rstrip()
    return mark + kept if kept or failed else ""


def _call_key(call: str) -> str:
    """A call's id as it is kept: it is as random as a secret, and of any length."""
    return ids.fingerprint(call)[:16] if call else ""


def _line_of(tool: Tool) -> str:
    command = tool["command"]
    if command.strip():
        return _plain("$ " + command[: _LINE_CHARS + _OUTCOME_MARGIN].strip())[:_LINE_CHARS].rstrip()
    files: Sequence[str] = tool["files"][:_MOST_FILES]
    return _plain(" ".join([tool["name"][:100] or "tool", *files])[: _LINE_CHARS + _OUTCOME_MARGIN])[:_LINE_CHARS]


def _plain(text: str) -> str:
    return redact(clean(text).replace("\0", "\ufffd"))[0]


def read_carry(value: Any) -> Carry:
    """The carry as it was stored; a new one where it is none."""
    try:
        prompt, drafts = value["prompt"], value["drafts"]
        for draft in drafts:
            text_of(draft), context_of(draft), draft["id"], draft["at"]
        if isinstance(prompt, str):
            return {"prompt": prompt, "drafts": drafts}
    except (TypeError, KeyError, ValueError):
        pass
    return new_carry()
