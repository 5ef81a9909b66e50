"""The observer: a model reads what a session said, range by range, and what it notes becomes memory (ADR-0203, async).

The observations of a range are stored together with how far the session is observed by then: a run that is killed has
stored a range wholly or not at all, and the next one goes on behind the last. Off the hot path.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from core import clock, ids
from core.errors import Failure
from core.redaction import redact
from core.store import sqlite
from core.store.sessions import observed
from memory import gate
from memory.observe import observation, turn_text
from memory.observe.prompt import prompt_of, turn_block
from memory.observe.reply import NotTheFormError, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from core.store.sessions.observed import Episode
    from memory.observe.observation import Stored

    class Model(Protocol):
        """What answers a prompt within `seconds`, or raises MODEL_TIMEOUT or another Failure."""

        def __call__(self, prompt: str, *, seconds: float) -> str:
            """The answer."""


RANGE_TOKENS = 12_000
"""Estimated tokens of the conversation in one prompt: what a small model still reads with care."""
TRIES = 3
"""Replies in a row that cannot be read; then the range is skipped, or those behind it would never be read."""
_REPLY_TOKENS = 1_000
"""Left for the answer when a range is cut to what the budget has left."""
_CHARS_PER_TOKEN = 4
_PAGE = 200
_SHOWN_CHARS = 120


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use: estimated tokens of prompts and answers, and seconds."""

    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Range:
    """Episodes that follow each other, and where the session stands before and behind them."""

    episodes: tuple[Episode, ...]
    turns: tuple[tuple[str, str, int], ...]
    before: tuple[int, str] | None
    reached: int
    tail: str

    @property
    def project(self) -> str:
        """The project of its last episode that has one."""
        return next((one["project"] for one in reversed(self.episodes) if one["project"]), "")


@dataclass(slots=True)
class Report:
    """What one run did."""

    ranges: list[dict[str, Any]] = field(default_factory=list)
    turns: int = 0
    tokens: int = 0
    stored: list[Stored] = field(default_factory=list)
    passed_turns: int = 0
    """Turns that a model could not be brought to note anything of, and that are not asked about again."""
    left_turns: int = 0
    left_tokens: int = 0
    stopped_by: str = ""
    """`tokens` or `seconds`, where the budget ended before the session did."""

    @property
    def merged(self) -> int:
        """How many observations took the place of one that said the same."""
        return sum(one.merged for one in self.stored)


def observe(
    db: apsw.Connection,
    session: str,
    model: Model,
    budget: Budget,
    *,
    vectors: bool,
    most_bytes: int,
    begin: Callable[[int, int], None],
    report: Report,
) -> None:
    """Observe what the session said since the last time, oldest first, until the budget is used.

    Args:
        db: open for writing, in no transaction. Nothing is locked while the model works.
        session: the id under which its episodes are kept.
        vectors: whether sqlite-vec is loaded.
        most_bytes: of a prompt.
        begin: called with the turns and estimated tokens ahead, before the model is asked for the first time.
        report: filled in, also where a Failure is raised: what it holds is stored.

    Raises:
        Failure: what the model's command or the store says, OBSERVE_REPLY_INVALID for a reply that is not in the form,
            OBSERVE_BUSY where another process went on from the same place. The range it was at is left to the next run;
            after `TRIES` such replies it is passed over.
    """
    until = time.monotonic() + budget.seconds
    form = prompt_of(())
    fixed, room_bytes = _tokens(form), most_bytes - len(form.encode())
    try:
        while True:
            left = budget.tokens - report.tokens - fixed - _REPLY_TOKENS
            found = _next(db, session, min(RANGE_TOKENS, max(1, left)), room_bytes)
            if found is None:
                return
            if not found.turns:  # tool calls alone: nothing to ask about
                _store(db, session, found, (), vectors)
                report.turns += len(found.episodes)
                continue
            prompt = prompt_of(found.turns)
            seconds = until - time.monotonic()
            over = report.tokens + _tokens(prompt) > budget.tokens
            report.stopped_by = "tokens" if over else "seconds" * (seconds <= 0)
            if report.stopped_by:
                return
            if not report.ranges:
                begin(*_remaining(db, session, found.before))
            if not _observe_range(db, session, model, found, prompt, seconds, vectors, report):
                report.stopped_by = "seconds"
                return
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        try:
            report.left_turns, report.left_tokens = _remaining(db, session, observed.position(db, session))
        except sqlite.StoreError:
            pass  # the store's fault was reported already


def has_episodes(db: apsw.Connection, session: str) -> bool:
    """Whether any turn of the session is archived, forgotten ones aside."""
    return bool(observed.episodes(db, session, 0, 1))


def _observe_range(
    db: apsw.Connection,
    session: str,
    model: Model,
    found: Range,
    prompt: str,
    seconds: float,
    vectors: bool,
    report: Report,
) -> bool:
    """Ask about one range and store what is noted; False where the run's time was over first."""
    began = time.monotonic()
    try:
        reply = model(prompt, seconds=seconds)
    except Failure as failure:
        if (
            failure.code == "MODEL_TIMEOUT" and time.monotonic() - began >= seconds
        ):  # it was cut short by the run's time
            if report.ranges:
                return False  # the model has answered before, so it is not at fault
            failure.fix = "raise observe.seconds in config.toml, or name a faster model"
        raise
    try:
        parsed = parse(reply)
    except NotTheFormError as reason:
        with sqlite.transaction(db):
            tries = observed.failed(db, session)
        if tries < TRIES:
            raise _invalid(str(reason), reply) from None
        _store(db, session, found, (), vectors)
        report.tokens += _tokens(prompt) + _tokens(reply)
        report.passed_turns += len(found.episodes)
        return True
    made = observation.drafted(parsed.items, session=session, project=found.project, now=clock.now_ms())
    stored = _store(db, session, found, made, vectors)
    tokens = _tokens(prompt) + _tokens(reply)
    report.stored += stored
    report.tokens += tokens
    report.turns += len(found.episodes)
    report.ranges.append(
        {
            "from": found.episodes[0]["id"],
            "to": found.episodes[-1]["id"],
            "turns": len(found.episodes),
            "tokens": tokens,
            "observations": len(stored),
            "cut": parsed.cut,
        }
    )
    return True


def _store(
    db: apsw.Connection, session: str, found: Range, made: Sequence[observation.Observation], vectors: bool
) -> list[Stored]:
    stored = observation.store(
        db,
        made,
        session=session,
        episodes=[one["id"] for one in found.episodes],
        before=found.before,
        reached=found.reached,
        tail=found.tail,
        now=clock.now_ms(),
        vectors=vectors,
    )
    if stored is None:
        raise Failure(
            "OBSERVE_BUSY", "another process has observed the same turns", "run it again: it goes on from there"
        )
    return stored


def _next(db: apsw.Connection, session: str, most_tokens: int, most_bytes: int) -> Range | None:
    """The next episodes that fit into a prompt, at least one; None where nothing was said since the last time."""
    before = observed.position(db, session)
    after = _resume_row(db, session, before)
    episodes: list[Episode] = []
    turns: list[tuple[str, str, int]] = []
    while True:
        page = observed.episodes(db, session, after, _PAGE)
        for one in page:
            role, text = turn_text.said(one["text"])
            if text:
                turn = (role, text, one["created_at"])
                shown = turn_block(turn)
                most_tokens -= _tokens(shown)
                most_bytes -= len(shown.encode()) + 1
                if turns and (most_tokens < 0 or most_bytes < 0):
                    return _range(episodes, turns, before)
                turns.append(turn)
            episodes.append(one)
            after = one["rowid"]
        if len(page) < _PAGE:
            return _range(episodes, turns, before) if episodes else None


def _resume_row(db: apsw.Connection, session: str, before: tuple[int, str] | None) -> int:
    """The row behind which to go on: that of the last episode, which comes again if it says more by now."""
    if before is None:
        return 0
    reached, tail = before
    last = observed.episode(db, session, reached)
    return reached if last is None or _tail(last) == tail else reached - 1


def _range(episodes: Sequence[Episode], turns: Sequence[tuple[str, str, int]], before: tuple[int, str] | None) -> Range:
    return Range(tuple(episodes), tuple(turns), before, episodes[-1]["rowid"], _tail(episodes[-1]))


def _tail(episode: Episode) -> str:
    return ids.fingerprint(turn_text.said(episode["text"])[1])


def _remaining(db: apsw.Connection, session: str, at: tuple[int, str] | None) -> tuple[int, int]:
    turns, characters = observed.behind(db, session, at[0] if at else 0)
    return turns, characters // _CHARS_PER_TOKEN


def _tokens(text: str) -> int:
    """An estimate."""
    return gate.width(text) // _CHARS_PER_TOKEN + 1


def _invalid(reason: str, reply: str) -> Failure:
    plain = redact(" ".join("".join(c if c.isprintable() else " " for c in reply).split()))[0]
    shown = plain if len(plain) <= _SHOWN_CHARS else plain[: _SHOWN_CHARS - 1] + "…"
    return Failure(
        "OBSERVE_REPLY_INVALID",
        f"the model's reply is not in the form asked for ({reason}): {shown}",
        "nothing of it was stored; run it again, or give --command a model that keeps to a form",
    )
