"""Where the work in a folder stands, for an agent that asks: the session meant, and what its compaction dropped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from core.errors import Failure
from core.store.sessions import name_rows
from session.inject import startup
from session.lost import report, standing
from session.session_store import SessionStore

ABOUT = {"id": "s1", "client": "pi", "project": "p", "calls": 7}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is asked of the store, and what it answers; the test changes that."""
    seen = SimpleNamespace(left=[], works=[{"session": ABOUT}], compactions=[1, 2], kinds={}, dropped=[], faults=[])

    def left(self: Any, project: str, folder: str, **more: Any) -> Any:
        seen.left.append((project, folder, more))
        self.faults.extend(seen.faults)
        return seen.works

    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    monkeypatch.setattr(SessionStore, "left", left)
    monkeypatch.setattr(SessionStore, "reading", lambda self: ("db", False))
    monkeypatch.setattr(name_rows, "compactions", lambda db, session: seen.compactions)
    monkeypatch.setattr(startup, "left_of", lambda works, now: [f"left at {now}"])
    monkeypatch.setattr(
        report, "of", lambda db, about, kinds: seen.dropped.append(kinds) or SimpleNamespace(kinds=seen.kinds)
    )
    return seen


def test_the_session_and_what_its_compaction_dropped(asked: Any) -> None:
    asked.kinds = {
        "words": [SimpleNamespace(text=f"said {n}\nso") for n in range(4)],
        "errors": [SimpleNamespace(error="E: no")],
        "names": [SimpleNamespace(name=f"n{n}") for n in range(25)],
    }
    assert standing.lines(Config({}), "/w/p", "s1") == [
        "session s1 of pi, project p, 7 tool calls, 2 compactions",
        f"left at {NOW_MS}",
        "**Dropped by the last compaction; recall brings it back:**",
        *(f"- words: said {n} so" for n in range(3)),
        "- errors: E: no",
        "- names: " + " ".join(f"n{n}" for n in range(24)),
    ]
    assert asked.dropped == [("words", "errors", "names")]
    ((project, _, more),) = asked.left
    assert (project, more) == ("p", {"without": "", "first": "s1"})


def test_a_session_that_was_not_compacted_has_dropped_nothing(asked: Any) -> None:
    assert len(standing.lines(Config({}), "/w/p", "")) == 2, "its compaction dropped nothing that is known"
    asked.compactions = []
    asked.dropped.clear()
    assert standing.lines(Config({}), "/w/p", "")[0].endswith("7 tool calls, 0 compactions")
    assert asked.dropped == []


def test_what_cannot_be_told_is_a_failure(asked: Any) -> None:
    asked.works = []
    with pytest.raises(Failure) as refused:
        standing.lines(Config({}), "/w/p", "")
    assert (refused.value.code, refused.value.message) == (
        "SESSION_NOT_FOUND", "no session of the project p is archived yet",
    )  # fmt: skip
    asked.faults = [{"step": "work", "code": "STORE_BUSY", "message": "it is held"}]
    with pytest.raises(Failure) as refused:
        standing.lines(Config({}), "/w/p", "")
    assert (refused.value.code, refused.value.message) == ("STORE_BUSY", "it is held")
