"""Texts with memories for the agent, and whether it used the memories afterwards. Hot path.

A reaction chooses memories, fits them into a budget and gives the text. Then up to twelve distinctive words of each
memory are remembered, those that the session had not used itself. If the agent says half of them, and at least three,
before the user does, the memory has echoed. After three turns without that it has fizzled. Each memory is judged once
(the mirrored CLI: +.1 and -.05 of priority).
"""

from __future__ import annotations

import time

from core import TYPE_CHECKING, clock, words
from core.quoting import DELIMITER, clip, cost, enclose, one_line
from core.redaction import redact
from memory.gate import is_noise, is_own
from recall.hit import written
from session.reactions import Reaction
from session.session import TASK_TAGS
from session.state import HITS_KEPT, TERMS_KEPT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Literal

    import apsw

    from clients.base import HookEvent
    from clients.entries import Entry
    from core.records import Hit
    from session.session import Session
    from session.state import Memory, Pending, SessionState

    Verdict = tuple[str, Literal["echo", "fizzle"], int]
    """A memory's id, the outcome, and how many of its words the agent said."""

TEXT_CHARS = 200  # of a memory that is given
FEWEST_TERMS = 3  # a memory with fewer distinctive words is not judged


EVENTS = {
    "memory-recall": ("memory.recall.injected", "memory-enforcer"),  # the reaction startup, `inject memory`
    "system-knowledge": ("system_knowledge.injected", "memory-enforcer"),  # the same
    "context-refresh": ("context.refresh.injected", ""),
    "project-context": ("project.context.injected", ""),
    "known-fix": ("error.fix.injected", ""),  # the reaction failure
}
"""The event of each kind of text, and its component ("" for the session's); any other kind is a recovery note.

The names are those of the public joelclaw CLI.
"""


def judge_memories(event: HookEvent, session: Session) -> Reaction:
    """Judge by the new entries whether the agent used the memories that it was given, and move their priorities."""
    pending, is_turn_over = session.state.pending_feedback, event["kind"] != "tool"
    session.state.pending_feedback, verdicts = judge(pending, session.entries, turn_ended=is_turn_over)
    if verdicts:
        session.queue_write("feedback", lambda db: move_priorities(db, verdicts, session))
    return Reaction()


def give(
    session: Session, kind: str, content: str, memories: Sequence[Memory] = (), *, about: Mapping[str, Any],
    query: str = "",
) -> Reaction:  # fmt: skip
    """Hand a text to the agent: count it, remember its memories so that their use can be seen, and queue its event.

    `query` is that of the recall: if the agent says its words, that does not show that it used a memory.
    """
    state = session.state
    identifiers = [memory["id"] for memory in memories]
    state.counts["injections"] += 1
    if memories:
        state.injected_memories = [*state.injected_memories, *identifiers]
        await_use(state, memories, query)
    name, _ = EVENTS.get(kind) or (state.compaction_event("compaction.inject"), "")
    return hand_over(session, name, kind, content, about={**about, "memoryIds": identifiers})


def hand_over(session: Session, name: str, kind: str, content: str, *, about: Mapping[str, Any]) -> Reaction:
    """The reaction with a text; queues its event, with the text unless the session's folder is excluded.

    The text is redacted again, because two redacted texts may form a secret when joined.
    """
    took_ms = round((time.monotonic() - session.reaction_began) * 1000, 2)
    about = {**about, "contentChars": len(content), "estimatedTokens": cost(content), "duration_ms": took_ms}
    is_excluded = session.is_excluded(session.state.cwd)
    # The user's words, and paths.
    shown = {key: value for key, value in about.items() if not (is_excluded and key in ("query", "scope"))}
    _, component = EVENTS.get(kind, ("", ""))
    event = session.event(name, shown, component=component)
    if not is_excluded:
        event["injected"] = {"kind": kind, "text": redact(content)[0]}
    event["recalled"] = about["memoryIds"]
    session.queue_event(event)
    return Reaction("injected", texts=[{"customType": kind, "content": content}], about=about)


def select(hits: Sequence[Hit], state: SessionState) -> list[Memory]:
    """The memories worth giving to the agent, pinned ones first, each text once; at most five."""
    chosen: dict[str, Memory] = {}
    for hit in written_to_be_kept(hits, state):
        text = hit["observation"]
        if not is_noise(text) and (line := clip(one_line(text[: 8 * TEXT_CHARS]), TEXT_CHARS)):
            line = f"({where}) {line}" if (where := written(hit)) else line
            category = hit["categoryId"].removeprefix("jc:") or hit["collection"]
            chosen.setdefault(line, {"id": hit["id"], "text": line, "category": category, "score": hit["score"]})
        if len(chosen) == HITS_KEPT:
            break
    return list(chosen.values())


def of_project(db: apsw.Connection, project: str, *, tag: str = "") -> list[Hit]:
    """Memories of a project and global ones, the pinned ones first, then the newest; with `tag`, only tagged ones."""
    from core.project import own_names
    from core.store import documents
    from recall.hit import document_hit

    names = own_names(project, documents.projects(db)) if project else ()
    return [document_hit(document, 0.0, 0.0, 1.0) for document in documents.of_projects(db, tuple(names), 10, tag)]


def written_to_be_kept(hits: Sequence[Hit], state: SessionState) -> list[Hit]:
    """The hits that a person or a model wrote on purpose, without those in the agent's context; pinned ones first."""
    compacted_at = state.last_compaction_at
    kept = [
        hit
        for hit in hits
        if hit["collection"] != "episodes"
        and TASK_TAGS[1] not in hit["tags"]
        and not hit["observation"].startswith("Task: ")
        and (
            hit["session"] != state.session_id
            or (compacted_at is not None and hit["timestamp"] < clock.iso(compacted_at))
        )
    ]
    return sorted(kept, key=lambda hit: "pinned" not in hit["tags"])


def fit(
    kind: str, head: Sequence[str], title: str, memories: Sequence[Memory], *, mark: str, max_tokens: int
) -> tuple[str, list[Memory]]:
    """A framed text: its `head`, and below a `title` as many memories as fit, which are returned too.

    If none fits, it is the head, or "" if that is only a heading. `mark` is what each memory begins with; it may
    contain {number} and {category}.
    """
    shown = [memory for memory in memories if one_line(memory["text"])]
    while shown:
        for tokens in (TEXT_CHARS, 66, 50, 25):  # longest text of each memory
            lines = [*head, title]
            for number, memory in enumerate(shown, 1):
                category = clip(one_line(memory["category"]), 30) or "memory"
                begin = mark.format(number=number, category=category)
                lines.append(begin + clip(one_line(memory["text"]), TEXT_CHARS, tokens))
            content = enclose(kind, lines)
            if cost(content) <= max_tokens:
                return content, shown
        shown = shown[:-1]
    return enclose(kind, head) if len(head) > 1 else "", []


def move_priorities(db: apsw.Connection, verdicts: Sequence[Verdict], session: Session) -> None:
    """Move the priorities of judged memories, and store an event for each, in one transaction."""
    from core.store import documents, sqlite
    from otel import log

    with sqlite.transaction(db):
        for identifier, outcome, matched in verdicts:
            priority = documents.move_priority(db, identifier, used=outcome == "echo", at=session.now)
            if priority is not None:
                about = {"memoryId": identifier, "termsMatched": matched, "priority": priority}
                log.append(db, [session.event(f"memory.{outcome}", about, component="memory-feedback")])


def await_use(state: SessionState, memories: Sequence[Memory], query: str) -> None:
    """Remember memories that the agent is given now; a pending memory is judged anew."""
    known = {*words.split(query)}
    for text in (state.task, *(entry["text"] for entry in state.messages), *state.files):
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

    Only what the assistant says, runs and edits counts as use, unless the user said it before. A prompt ends the turn
    before it; in the middle of a turn no memory fizzles.
    """
    verdicts: list[Verdict] = []
    for item in items if pending else ():
        is_prompt = item.kind == "prompt" and bool(item.text) and not is_own(item.text)
        if not is_prompt and item.kind not in ("answer", "call"):
            continue
        texts = [item.text]
        if not is_prompt:  # looking a memory up, or quoting our frame, is no use of it
            texts = ["" if DELIMITER in item.text else item.text, *item.files]
            texts += [] if "joelclaw" in item.command else [item.command]
        spoken = _words_of(" ".join(texts))
        if is_prompt:
            pending = _without_fizzled(pending, verdicts)
        kept: list[Pending] = []
        for entry in pending:
            left = [term for term in entry["terms"] if term not in spoken]
            used = entry["used"] + (0 if is_prompt else len(entry["terms"]) - len(left))
            if is_prompt and len(left) + used >= FEWEST_TERMS:
                kept.append({**entry, "terms": left, "asked": True})
            elif not is_prompt and used >= FEWEST_TERMS and used >= len(left):
                verdicts.append((entry["id"], "echo", used))
            elif not is_prompt:
                turns = entry["turns"] + entry["asked"]
                kept.append({**entry, "terms": left, "used": used, "asked": False, "turns": turns})
        pending = kept
    return (_without_fizzled(pending, verdicts) if turn_ended else pending), verdicts


def _without_fizzled(pending: list[Pending], verdicts: list[Verdict]) -> list[Pending]:
    fizzled = [entry for entry in pending if entry["turns"] >= 3]
    verdicts.extend((entry["id"], "fizzle", entry["used"]) for entry in fizzled)
    return [entry for entry in pending if entry not in fizzled]


def _distinctive(text: str, known: Collection[str]) -> list[str]:
    """The words that identify a text: numbers and parts of names and paths first, then the longest words."""
    of_names: dict[str, bool] = {}
    for chunk in text.split():
        inner = chunk.strip("\"'`.,;:!?()[]{}<>*_-‹›")
        is_name = not inner.isalpha() or not (inner.islower() or inner.istitle())
        for word in sorted(_words_of(chunk)):
            if word.isascii():
                is_telling = len(word) >= (2 if is_name else 5)
            else:  # in a script without spaces, pairs of characters count as words
                is_telling = not words.parts(word) or len(word) == 2
            if is_telling and len(word) <= 40 and word not in known and word not in words.STOP_WORDS:
                of_names[word] = is_name or of_names.get(word, False)
    return sorted(of_names, key=lambda word: (not of_names[word], -len(word)))


def _words_of(text: str) -> set[str]:
    """The words of a text; of a script without spaces, pairs of characters."""
    text = text[:50_000]
    return {*words.split(text), *(() if text.isascii() else words.parts(text).split())}
