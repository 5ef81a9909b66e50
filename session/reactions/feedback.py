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


def react(event: HookEvent, session: Session) -> Reaction:
    """Judge the pending memories by the newly archived entries, and move the priorities of those that are decided."""
    state = session.state
    state.pending_feedback, verdicts = judge(
        state.pending_feedback, session.entries, turn_ended=event["kind"] != "tool"
    )
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
    """The words that identify a text: numbers and parts of names and paths first, then the longest words."""
    of_names: dict[str, bool] = {}
    for chunk in text.split():
        inner = chunk.strip("\"'`.,;:!?()[]{}<>*_-‹›")
        is_name = not inner.isalpha() or not (inner.islower() or inner.istitle())
        for word in sorted(_words_of(chunk)):
            if word.isascii():
                is_telling = len(word) >= 5 or (len(word) > 1 and (is_name or any(map(str.isdigit, word))))
            else:  # in a script without spaces, pairs of characters count as words
                is_telling = not words.parts(word) or len(word) == 2
            if is_telling and len(word) <= 40 and word not in known and word not in words.STOP_WORDS:
                of_names[word] = is_name or of_names.get(word, False)
    return sorted(of_names, key=lambda word: (not of_names[word], -len(word)))


def _words_of(text: str) -> set[str]:
    """The words of a text; of a script without spaces, pairs of characters."""
    text = text[:50_000]
    return {*words.split(text), *(() if text.isascii() else words.parts(text).split())}
