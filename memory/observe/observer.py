"""The observer: a model reads what a session said, range by range, and what it notes becomes memory (ADR-0203, async).

The observations of a range are stored together with how far the session is observed by then: a run that is killed has
stored a range wholly or not at all, and the next one goes on behind the last. Off the hot path.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from core import clock
from core.errors import Failure
from core.redaction import redact
from core.store import documents, sqlite
from core.store.sessions import observed
from memory import gate, write
from memory.observe import form
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from core.config import Config
    from core.store.sessions.observed import Episode

    class Model(Protocol):
        """What answers a prompt within `seconds`, or raises MODEL_TIMEOUT or another Failure."""

        def __call__(self, prompt: str, *, seconds: float) -> str:
            """The answer."""


SOURCE = "observe"
RANGE_TOKENS = 12_000
"""Estimated tokens of the conversation in one prompt: what a small model still reads with care."""
TRIES = 3
"""Answers in a row that cannot be read; then the range is passed over, or those behind it would never be read."""
_REPLY_TOKENS = 1_000
"""Left for the answer when a range is cut to what the budget has left."""
_CHARS_PER_TOKEN = 4
_LONGEST_TURN = 4_600
"""Characters: more than an archived message has, less than an imported one may have."""
_PAGE = 200
_SHOWN_CHARS = 120


@dataclass(frozen=True, slots=True)
class Range:
    """Episodes that follow each other, the prompt about them, and where the session stood before them."""

    episodes: Sequence[Episode]
    prompt: str
    before: tuple[int, str] | None


@dataclass(slots=True)
class Report:
    """What one run did."""

    ranges: list[dict[str, Any]] = field(default_factory=list)
    turns: int = 0
    tokens: int = 0
    passed_turns: int = 0
    """Turns of which a model could not be brought to note anything, and that are not asked about again."""
    left_turns: int = 0
    left_tokens: int = 0
    stopped_by: str = ""
    """`tokens` or `seconds`, where the budget ended before the session did."""
    merged: int = 0
    """Observations that took the place of one that said the same."""
    types: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)


class Observer:
    """Observes one session within `observe.max_tokens` (estimated, of prompts and answers) and `observe.seconds`.

    Args:
        db: open for writing, in no transaction. Nothing is locked while the model works.
        session: the id under which its episodes are kept.
        vectors: whether sqlite-vec is loaded.
        report: filled in, also where a Failure is raised: what it holds is stored.
    """

    def __init__(
        self, db: apsw.Connection, session: str, model: Model, config: Config, report: Report, *, vectors: bool
    ) -> None:
        self._db = db
        self._session = session
        self._model = model
        self._config = config
        self._vectors = vectors
        self._report = report

    def run(self, begin: Callable[[int, int], None]) -> None:
        """Observe what the session said since the last time, oldest first, until the budget is used.

        Args:
            begin: called with the turns and estimated tokens ahead, before the model is asked for the first time.

        Raises:
            Failure: what the model's command or the store says, OBSERVE_REPLY_INVALID for an answer that is not in the
                form, OBSERVE_BUSY where another process went on from the same place. The range it was at is left to
                the next run; after `TRIES` such answers it is passed over.
        """
        until = time.monotonic() + self._config.get_int("observe.seconds")
        report, budget = self._report, self._config.get_int("observe.max_tokens")
        try:
            while (found := self._next(budget - report.tokens)) is not None:
                seconds = until - time.monotonic()
                over = report.tokens + _tokens(found.prompt) > budget
                report.stopped_by = "tokens" if over else "seconds" * (seconds <= 0)
                if report.stopped_by:
                    return
                if not report.ranges:
                    begin(*self._left(found.before))
                if not self._observe(found, seconds):
                    report.stopped_by = "seconds"
                    return
        except sqlite.StoreError as error:
            raise sqlite.as_failure(error) from None
        finally:
            try:
                report.left_turns, report.left_tokens = self._left(observed.position(self._db, self._session))
            except sqlite.StoreError:
                pass  # the store's fault was reported already

    def _next(self, left_tokens: int) -> Range | None:
        """The next episodes that fit into a prompt, at least one; None where nothing was said since the last time."""
        frame = form.prompt_of(())
        tokens = min(RANGE_TOKENS, left_tokens - _tokens(frame) - _REPLY_TOKENS)
        room = self._config.get_int("model.max_prompt_bytes") - len(frame.encode())
        before = observed.position(self._db, self._session)
        after = before[0] if before else 0
        episodes: list[Episode] = []
        turns: list[tuple[str, str, int]] = []
        while page := observed.episodes(self._db, self._session, after, _PAGE):
            for one in page:
                turn = _turn(one)
                block = form.turn_block(turn)
                tokens -= _tokens(block)
                room -= len(block.encode()) + 1
                if turns and (tokens < 0 or room < 0):
                    return Range(episodes, form.prompt_of(turns), before)
                turns.append(turn)
                episodes.append(one)
            after = page[-1]["rowid"]
        return Range(episodes, form.prompt_of(turns), before) if episodes else None

    def _observe(self, found: Range, seconds: float) -> bool:
        """Ask about one range and store what is noted; False where the run's time was over first."""
        report, began = self._report, time.monotonic()
        try:
            reply = self._model(found.prompt, seconds=seconds)
        except Failure as failure:
            if failure.code == "MODEL_TIMEOUT" and time.monotonic() - began >= seconds:  # the run's time cut it short
                if report.ranges:
                    return False  # the model has answered before, so it is not at fault
                failure.fix = "raise observe.seconds in config.toml, or name a faster model"
            raise
        tokens = _tokens(found.prompt) + _tokens(reply)
        try:
            items, is_cut = form.parse(reply)
        except form.NotTheFormError as reason:
            with sqlite.transaction(self._db):
                tries = observed.failed(self._db, self._session)
            if tries < TRIES:
                raise _invalid(str(reason), reply) from None
            self._store(found, [])
            report.passed_turns += len(found.episodes)
            report.tokens += tokens
            return True
        stored = self._store(found, items)
        report.tokens += tokens
        report.turns += len(found.episodes)
        report.ranges.append(
            {
                "from": found.episodes[0]["id"], "to": found.episodes[-1]["id"], "turns": len(found.episodes),
                "tokens": tokens, "observations": stored, "cut": is_cut,
            }
        )  # fmt: skip
        return True

    def _store(self, found: Range, items: Sequence[form.Item]) -> int:
        """Store the observations of a range and how far the session is observed now, all or nothing; how many."""
        now = clock.now_ms()
        project = next((one["project"] for one in reversed(found.episodes) if one["project"]), "")
        made = []
        stored: list[tuple[str, str, bool]] = []
        for item in items:
            text = item.text[: self._config.get_int("memory.max_chars")]
            document, tokens = write.composed(
                text, [], source=SOURCE, session=self._session, project=project, now=now, config=self._config
            )
            document["observation_type"] = item.type
            made.append((document, tokens, document_vector(document["text"])))
        with sqlite.transaction(self._db):
            if observed.position(self._db, self._session) != found.before:
                raise Failure(
                    "OBSERVE_BUSY", "another process has observed the same turns", "run it again: it goes on from there"
                )
            if self._vectors and made:
                documents.ensure_signatures(self._db)
            episodes = [one["id"] for one in found.episodes]
            number = observed.add_range(self._db, self._session, episodes, now) if made else 0
            for document, tokens, vector in made:
                kept, merged = write.placed(self._db, document, tokens, vector, now=now, vectors=self._vectors)
                observed.add_evidence(self._db, kept["id"], number)
                stored.append((document["observation_type"], kept["write_verdict"], merged))
            observed.advance(self._db, self._session, found.episodes[-1]["rowid"], "", now)
        self._report.types.update(one[0] for one in stored)
        self._report.verdicts.update(one[1] for one in stored)
        self._report.merged += sum(one[2] for one in stored)
        return len(stored)

    def _left(self, at: tuple[int, str] | None) -> tuple[int, int]:
        turns, characters = observed.behind(self._db, self._session, at[0] if at else 0)
        return turns, characters // _CHARS_PER_TOKEN


def _turn(episode: Episode) -> tuple[str, str, int]:
    """An episode as conversation: who spoke, what was said, and when."""
    role, colon, text = episode["text"].partition(": ")
    if not colon or role not in ("user", "assistant"):
        role, text = "user", episode["text"]  # imported from elsewhere: the speaker's name stays in the text
    text = text if len(text) <= _LONGEST_TURN else text[: _LONGEST_TURN - 1].rstrip() + "…"
    return role, text, episode["created_at"]


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
