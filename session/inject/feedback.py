"""Whether the agent used what it was handed: echo and fizzle, told from the turns that follow an injection.

A memory is kept with up to twelve distinctive words, those that the session itself had not said. When the agent then
says half of them, and three at least, before the user does, the memory has echoed; after three turns without, it has
fizzled. Either is judged once (the mirrored CLI: +.1 and -.05 of priority).
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.quoting import DELIMITER
from memory.gate import is_own
from session.faults import fault_boundary
from session.state import state_file
from session.step import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Literal

    import apsw

    from clients.event import Item, Said
    from core.config import Config
    from session.records import Memory, Pending, SessionState
    from session.step import Context

    Verdict = tuple[str, Literal["echo", "fizzle"], int]
    """A memory's id, what became of it, and how many of its words the agent said."""

_COMPONENT = "memory-feedback"
TURNS = 3
TERMS_LEAST = 3
_READ_CHARS = 50_000
_LONGEST = 40  # as the state keeps them
_LONG, _SHORTEST = 8, 5
# Words of any talk about work: that the agent says them shows nothing.
_COMMON = frozenset(
    "about above according actually added adding after again agreed allow allowed along already although always among"
    " another answer anything approach around asked asking available because become before begin behavior behaviour"
    " being below better between branch bring broken called calls cannot cause caused causes change changed changes"
    " changing check checked checking checkpoint checks choose clear clearly close code command commit common complete"
    " completed confirm correct correctly could create created current currently decide decided decision default"
    " delete different directory document during either enough ensure error errors every everything exactly example"
    " existing expected explain failed failing fails failure feature figure figures final finally finding finished"
    " first fixed fixes folder follow following found function further given going handle happen happens having helper"
    " implement implementation important include including inside insight instead issue issues itself keeps known"
    " later leave likely listed little longer looked looking looks makes making matter maybe means memory method might"
    " missing module moment needed needs never nothing number observation often other otherwise output parts passed"
    " passes pending people place please point possible prefer preferred prefers present previous probably problem"
    " problems project properly question quickly rather reading ready really reason recall related relevant remember"
    " remove removed request requires result results retry return returned right running safely second section should"
    " similar simple simply since single small solution something special specific start started starting state stays"
    " still stops summary support system takes tasks testing tests their there therefore these thing things think"
    " those though three through together total tried tries trying under understand unless until update updated usage"
    " using usually value values version wanted wants whether which while whole without worked working works would"
    " write writing written wrong".split()
)


class Feedback(Step):
    """Judges memories that were injected before by what a transcript has that is new; `ended`: so is the turn."""

    name = "feedback"

    def __init__(self, context: Context, items: Sequence[Item], *, ended: bool) -> None:
        self._context = context
        self._items = items
        self._ended = ended
        self._verdicts: list[Verdict] = []

    def change(self, state: SessionState) -> SessionState:
        """What is still pending; the verdicts of the last call count."""
        self._verdicts = []
        if not self._context.is_late:
            with fault_boundary(self._context.faults, self.name):
                state, self._verdicts = judge(state, self._items, ended=self._ended)
        return state

    def follow_up(self, state: SessionState, *, late: bool = False) -> None:
        """Move the priorities of what was judged."""
        if self._verdicts and not late:
            config, about = self._context.config, (state["role"], state["sessionId"], self._context.now)
            self._context.store.attempt(
                self.name, lambda db: move_priorities(db, self._verdicts, about, config), None, durable=False
            )


def move_priorities(
    db: apsw.Connection, verdicts: Sequence[Verdict], about: tuple[str, str, int], config: Config
) -> None:
    """Move the priorities of judged memories, with `memory.echo` and `memory.fizzle`, all or nothing; `about`: the
    session's role, its id, and the time."""
    from core.store import document_rows, sqlite
    from otel import log
    from session import session_event

    events, (role, session, now) = [], about
    with sqlite.transaction(db):
        for identifier, outcome, matched in verdicts:
            priority = document_rows.move_priority(db, identifier, used=outcome == "echo", at=now)
            if priority is not None:
                told = {"memoryId": identifier, "termsMatched": matched, "priority": priority}
                events.append(session_event.event(f"memory.{outcome}", role, session, told, now, component=_COMPONENT))
        log.append(db, events)


def remember(state: SessionState, memories: Sequence[Memory], query: str) -> SessionState:
    """The state with memories that are handed to the agent now; one that was pending is judged anew."""
    known = {*words.split(query), *_spoken(state["checkpoint"]["currentTask"])}
    for text in (*(entry["text"] for entry in state["messages"]), *state["files"]):
        known |= _spoken(text)
    given = {memory["id"]: memory for memory in memories}
    pending = [entry for entry in state["pendingFeedback"] if entry["id"] not in given]
    for memory in given.values():
        text = memory["text"].partition(") ")[2] if memory["text"].startswith("(written in ") else memory["text"]
        telling = _distinctive(text, known)[: state_file.TERMS_KEPT]
        if len(telling) >= TERMS_LEAST:
            pending.append({"id": memory["id"], "terms": telling, "used": 0, "asked": False, "turns": 0})
    return state_file.bounded({**state, "pendingFeedback": pending})


def judge(state: SessionState, items: Sequence[Item], *, ended: bool = True) -> tuple[SessionState, list[Verdict]]:
    """The state after new items of the transcript, and the memories that can be judged by them.

    Only what the assistant says, runs and edits counts as use, and what the user said before it does not. In the middle
    of a turn nothing fizzles yet.
    """
    pending = state["pendingFeedback"]
    verdicts: list[Verdict] = []
    for item in items if pending else ():
        if item["kind"] != "said":
            continue
        if item["role"] == "assistant":
            pending = _answered(pending, _shown(item), verdicts)
        elif not is_own(item["text"]):  # it ends the turn before it, and what it says is no sign of use any more
            said = _spoken(item["text"])
            left = [_without(entry, said) for entry in _without_fizzled(pending, verdicts)]
            pending = [{**one, "asked": True} for one in left if len(one["terms"]) + one["used"] >= TERMS_LEAST]
    if ended:
        pending = _without_fizzled(pending, verdicts)
    return {**state, "pendingFeedback": pending}, verdicts


def _answered(pending: list[Pending], said: set[str], verdicts: list[Verdict]) -> list[Pending]:
    kept: list[Pending] = []
    for entry in pending:
        left = _without(entry, said)
        used = entry["used"] + len(entry["terms"]) - len(left["terms"])
        if used >= TERMS_LEAST and used >= len(left["terms"]):
            verdicts.append((entry["id"], "echo", used))
        else:
            kept.append({**left, "used": used, "asked": False, "turns": entry["turns"] + entry["asked"]})
    return kept


def _without(entry: Pending, said: set[str]) -> Pending:
    return {**entry, "terms": [term for term in entry["terms"] if term not in said]}


def _without_fizzled(pending: list[Pending], verdicts: list[Verdict]) -> list[Pending]:
    verdicts.extend((entry["id"], "fizzle", entry["used"]) for entry in pending if entry["turns"] >= TURNS)
    return [entry for entry in pending if entry["turns"] < TURNS]


def _shown(said: Said) -> set[str]:
    """The words of what the assistant said and did; looking a memory up, or quoting our frame, is no use of it."""
    texts = [] if DELIMITER in said["text"] else [said["text"]]
    for tool in said["tools"]:
        texts += [*tool["files"], "" if "joelclaw" in tool["command"] else tool["command"]]
    return {word for text in texts for word in _spoken(text)}


def _distinctive(text: str, known: Collection[str]) -> list[str]:
    """The words by which a text is recognised: numbers and parts of names and paths first, then long words."""
    weights: dict[str, int] = {}
    for chunk in text.split():
        inner = chunk.strip("\"'`.,;:!?()[]{}<>*_-‹›")
        named = any(not sign.isalnum() and sign not in "'’" for sign in inner)  # a path, an identifier or the like
        named = named or (any(map(str.isalpha, inner)) and not (inner.islower() or inner.istitle()))
        for word in sorted(_spoken(chunk)):
            if word not in known and word not in words.STOP_WORDS and word not in _COMMON and len(word) <= _LONGEST:
                weights[word] = max(_weight(word, named), weights.get(word, 0))
    return sorted((word for word in weights if weights[word]), key=lambda word: -weights[word])


def _spoken(text: str) -> set[str]:
    """The words of a text; of a run in a script without spaces its pairs."""
    text = text[:_READ_CHARS]
    return {*words.split(text), *(() if text.isascii() else words.parts(text).split())}


def _weight(word: str, named: bool) -> int:
    """How well a word tells a memory from others, 0 where it tells nothing."""
    if not word.isascii() and words.parts(word):  # a script without spaces: its pairs stand for words
        return 1 if len(word) == 2 else 0
    if any(map(str.isdigit, word)):
        return 3 if len(word) > 1 else 0
    if named and len(word) > 2:
        return 3 if len(word) >= _SHORTEST else 2
    return 2 if len(word) >= _LONG else 1 if len(word) >= _SHORTEST else 0
