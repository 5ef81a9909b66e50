"""Whether the agent used the memories that it was given, judged by the turns that follow: echo or fizzle. Hot path.

Up to twelve distinctive words of a memory are remembered, those that the session had not said itself. If the agent then
says half of them, and at least three, before the user does, the memory has echoed. After three turns without that it
has fizzled. Each memory is judged once (the mirrored CLI: +.1 and -.05 of priority).
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.quoting import DELIMITER
from memory.gate import is_own
from session.reactions import Reaction
from session.state import TERMS_KEPT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Literal

    import apsw

    from clients.entries import Entry
    from clients.event import HookEvent
    from session.session import Session
    from session.state import Memory, Pending, SessionState

    Verdict = tuple[str, Literal["echo", "fizzle"], int]
    """A memory's id, the outcome, and how many of its words the agent said."""

TURNS = 3
FEWEST_TERMS = 3

# Any talk about work has these words, so they do not show that a memory was used.
_COMMON_WORDS = frozenset(
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


def react(event: HookEvent, session: Session) -> Reaction:
    """Judge the pending memories by the newly archived entries, and move the priorities of those that are decided."""
    state = session.state
    state.pending_feedback, verdicts = judge(state.pending_feedback, session.items, turn_ended=event["kind"] != "tool")
    if verdicts:
        session.queue_write("feedback", lambda db: move_priorities(db, verdicts, session))
    return Reaction()


def move_priorities(db: apsw.Connection, verdicts: Sequence[Verdict], session: Session) -> None:
    """Move the priorities of judged memories, and store an event for each, in one transaction."""
    from core.store import documents, sqlite
    from otel import log

    events = []
    with sqlite.transaction(db):
        for identifier, outcome, matched in verdicts:
            priority = documents.move_priority(db, identifier, used=outcome == "echo", at=session.now)
            if priority is not None:
                about = {"memoryId": identifier, "termsMatched": matched, "priority": priority}
                events.append(session.event(f"memory.{outcome}", about, component="memory-feedback"))
        log.append(db, events)


def await_use(state: SessionState, memories: Sequence[Memory], query: str) -> None:
    """Remember memories that the agent is given now; a pending memory is judged anew."""
    known = {*words.split(query), *_words_of(state.task)}
    for text in (*(entry["text"] for entry in state.messages), *state.files):
        known |= _words_of(text)
    given = {memory["id"]: memory for memory in memories}
    pending = [entry for entry in state.pending_feedback if entry["id"] not in given]
    for memory in given.values():
        text = memory["text"].partition(") ")[2] if memory["text"].startswith("(written in ") else memory["text"]
        terms = _distinctive(text, known)[:TERMS_KEPT]
        if len(terms) >= FEWEST_TERMS:
            pending.append({"id": memory["id"], "terms": terms, "used": 0, "asked": False, "turns": 0})
    state.pending_feedback = pending


def judge(
    pending: list[Pending], items: Sequence[Entry], *, turn_ended: bool = True
) -> tuple[list[Pending], list[Verdict]]:
    """The memories that are still pending after new items of the transcript, and the verdicts on the others.

    Only what the assistant says, runs and edits counts as use, unless the user said it before. In the middle of a turn
    no memory fizzles.
    """
    verdicts: list[Verdict] = []
    for item in items if pending else ():
        if item.kind in ("answer", "call"):
            pending = _after_answer(pending, _words_used(item), verdicts)
        elif item.kind == "prompt" and item.text and not is_own(item.text):
            # a prompt ends the turn before it, and its words show no use any more
            prompt = _words_of(item.text)
            left = [_without_terms(entry, prompt) for entry in _without_fizzled(pending, verdicts)]
            pending = [
                {**entry, "asked": True} for entry in left if len(entry["terms"]) + entry["used"] >= FEWEST_TERMS
            ]
    if turn_ended:
        pending = _without_fizzled(pending, verdicts)
    return pending, verdicts


def _after_answer(pending: list[Pending], answer: set[str], verdicts: list[Verdict]) -> list[Pending]:
    kept: list[Pending] = []
    for entry in pending:
        left = _without_terms(entry, answer)
        used = entry["used"] + len(entry["terms"]) - len(left["terms"])
        if used >= FEWEST_TERMS and used >= len(left["terms"]):
            verdicts.append((entry["id"], "echo", used))
        else:
            kept.append({**left, "used": used, "asked": False, "turns": entry["turns"] + entry["asked"]})
    return kept


def _without_terms(entry: Pending, spoken: set[str]) -> Pending:
    return {**entry, "terms": [term for term in entry["terms"] if term not in spoken]}


def _without_fizzled(pending: list[Pending], verdicts: list[Verdict]) -> list[Pending]:
    verdicts.extend((entry["id"], "fizzle", entry["used"]) for entry in pending if entry["turns"] >= TURNS)
    return [entry for entry in pending if entry["turns"] < TURNS]


def _words_used(entry: Entry) -> set[str]:
    """The words of what the assistant said and did; looking a memory up, or quoting our frame, is no use of it."""
    texts = [] if DELIMITER in entry.text else [entry.text]
    texts += [*entry.files, "" if "joelclaw" in entry.command else entry.command]
    return {word for text in texts for word in _words_of(text)}


def _distinctive(text: str, known: Collection[str]) -> list[str]:
    """The words that identify a text: numbers and parts of names and paths first, then long words."""
    weights: dict[str, int] = {}
    for chunk in text.split():
        inner = chunk.strip("\"'`.,;:!?()[]{}<>*_-‹›")
        is_name = any(not sign.isalnum() and sign not in "'’" for sign in inner)  # a path, an identifier or the like
        is_name = is_name or (any(map(str.isalpha, inner)) and not (inner.islower() or inner.istitle()))
        for word in sorted(_words_of(chunk)):
            is_common = word in words.STOP_WORDS or word in _COMMON_WORDS
            if word not in known and not is_common and len(word) <= 40:
                weights[word] = max(_weight(word, is_name=is_name), weights.get(word, 0))
    return sorted((word for word in weights if weights[word]), key=lambda word: -weights[word])


def _words_of(text: str) -> set[str]:
    """The words of a text; of a script without spaces, pairs of characters."""
    text = text[:50_000]
    return {*words.split(text), *(() if text.isascii() else words.parts(text).split())}


def _weight(word: str, *, is_name: bool) -> int:
    """How well a word tells a memory from others; 0 if it does not."""
    if not word.isascii() and words.parts(word):  # a script without spaces: its pairs count as words
        return 1 if len(word) == 2 else 0
    if any(map(str.isdigit, word)):
        return 3 if len(word) > 1 else 0
    if is_name and len(word) > 2:
        return 3 if len(word) >= 5 else 2
    return 2 if len(word) >= 8 else 1 if len(word) >= 5 else 0
