"""Documents get contextual vectors page by page, newest first, up to a limit or an end of time, without the model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw
import pytest
from conftest import Run

from core.errors import Failure
from core.store import sqlite
from recall import contextual_vectors, index

COUNT = 70  # more than a page of 64, and no multiple of a transaction of 16


@pytest.fixture
def db(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    lines = [{"id": f"m{n:02}", "text": f"note {n} of the gateway", "verdict": "allow"} for n in range(COUNT)]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)))
    monkeypatch.setenv("JOELCLAW_HOME", str(home))

    def embed(texts: Iterable[str]) -> Iterator[bytes]:
        for _ in texts:
            yield b"\x01" * contextual_vectors.DIMENSIONS

    monkeypatch.setattr(contextual_vectors, "available", lambda: True)
    monkeypatch.setattr(contextual_vectors, "embed_passages", embed)
    made = sqlite.open_writing(busy_ms=1000, durable=False)
    sqlite.load_vectors(made)
    yield made
    made.close()


def test_all_documents(db: apsw.Connection) -> None:
    told: list[int] = []
    steps: list[int] = []
    done = index.index(db, started=told.append, progress=steps.append)
    assert (done.space, done.indexed, done.remaining) == (contextual_vectors.SPACE, COUNT, 0)
    assert told == [COUNT] and steps == [16, 16, 16, 16, 6]
    again = index.index(db, started=told.append)
    assert (again.indexed, again.remaining, told[-1]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("limit", "steps"), [(0, []), (1, [1]), (16, [16]), (17, [16, 1]), (65, [16] * 4 + [1]), (99, [16] * 4 + [6])]
)
def test_up_to_a_limit(db: apsw.Connection, limit: int, steps: list[int]) -> None:
    told: list[int] = []
    seen: list[int] = []
    done = index.index(db, limit=limit, started=told.append, progress=seen.append)
    assert (done.indexed, done.remaining) == (sum(steps), COUNT - sum(steps))
    assert told == [min(limit, COUNT)] and seen == steps


def test_up_to_an_end_of_time(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert index.index(db, budget_s=0).indexed == 0
    moments = iter([0.0, 1.0, 2.0, 3.0])  # the beginning, then before each page
    monkeypatch.setattr(time, "monotonic", lambda: next(moments, 5.0))
    done = index.index(db, budget_s=3)
    assert (done.indexed, done.remaining, done.seconds) == (32, COUNT - 32, 5.0)


def test_what_the_engine_cannot_embed_is_passed_over(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual_vectors, "embed_passages", lambda texts: (b"" for _ in texts))
    done = index.index(db)
    assert (done.indexed, done.remaining) == (0, COUNT), "it ends, and says what is left"


def test_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual_vectors, "available", lambda: False)
    monkeypatch.setattr(contextual_vectors, "unavailable_because", lambda: "it is not here")
    with pytest.raises(Failure, match="contextual vectors are not available: it is not here") as raised:
        index.require()
    assert raised.value.code == "CAPABILITY_NOT_CONFIGURED"
    monkeypatch.setattr(contextual_vectors, "available", lambda: True)
    index.require()
