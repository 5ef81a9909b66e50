"""An injected memory that the agent uses rises, one that it ignores sinks."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import NOW, NOW_MS, Run, at_ms
from hypothesis import given
from hypothesis import strategies as st
from lived_session import Lived

from clients import entries
from core import words
from core.config import Config
from session.reactions import Reaction, daily_log, injection
from session.session import Session
from session.state import TERMS_KEPT, SessionState

if TYPE_CHECKING:
    from clients.entries import Entry
    from session.state import Memory, Pending

LEASE = "Renew the lease each 10 s: a unique index on webhook_id deadlocks with the archiver (0093_unique_attempt.sql)."
USES_IT = "I keep clear of 0093_unique_attempt.sql, since the webhook index deadlocks with the archiver."


def memory(text: str, identifier: str = "m1") -> Memory:
    return {"id": identifier, "text": text, "category": "ops", "score": 0.6}


def blank(*words: str) -> SessionState:
    state = SessionState("s1", "interactive", NOW_MS)
    state.messages = [{"text": text, "hash": str(at)} for at, text in enumerate(words)]
    return state


def pending(*memories: Memory, words: tuple[str, ...] = ()) -> list[Pending]:
    state = blank(*words)
    injection.await_use(state, memories or (memory(LEASE),), "")
    return state.pending_feedback


def user(text: str) -> Entry:
    entry = entries.Entry("prompt")
    entry.text = text
    return entry


def agent(text: str = "", command: str = "", *files: str) -> Entry:
    entry = entries.Entry("answer", command=command)
    entry.text, entry.files = text, list(files)
    return entry


def judged(state: list[Pending], *items: Entry) -> list[tuple[str, str]]:
    return [(identifier, outcome) for identifier, outcome, _ in injection.judge(state, items)[1]]


def test_a_memory_echoes_once() -> None:
    state, verdicts = injection.judge(pending(), [user("go on"), agent(USES_IT)])
    assert [verdict[:2] for verdict in verdicts] == [("m1", "echo")]
    assert verdicts[0][2] >= 3
    assert injection.judge(state, [user("and now?"), agent(USES_IT)])[1] == []


def test_commands_and_files_count_as_what_the_agent_says() -> None:
    state = pending(memory("Port 7432 is the test database of tidepool, pytest runs with --maxfail=2"))
    ran = agent("", "PORT=7432 pytest --maxfail=2 tidepool/database", "tidepool/conftest.py")
    assert judged(state, user("test it"), ran) == [("m1", "echo")]


@pytest.mark.parametrize(
    "items",
    [
        [user(USES_IT), agent(USES_IT)],
        [entries.result_entry("c", USES_IT, False)],
        [agent('<joelclaw-memory source="x">' + USES_IT)],
        [agent("", f'joelclaw recall "{USES_IT}"')],
        [agent("I renew nothing, and read on in the folder with the archiver.")],
    ],
    ids=["the user said it", "a tool printed it", "our frame quoted", "our own command", "too few of the words"],
)
def test_quoting_or_looking_up_a_memory_is_no_echo(items: list[Entry]) -> None:
    assert judged(pending(), user("go on"), *items) == []


def test_three_turns_without_use_are_a_fizzle() -> None:
    state = pending()
    turn = [user("what is the weather like"), agent("Cloudy."), agent("And windy.")]
    state, early = injection.judge(state, [*turn, *turn])
    assert early == []
    state, unfinished = injection.judge(state, turn, turn_ended=False)
    assert unfinished == []
    state, verdicts = injection.judge(state, [], turn_ended=True)
    assert [verdict[:2] for verdict in verdicts] == [("m1", "fizzle")]
    assert injection.judge(state, turn * 4)[1] == []


def test_words_that_the_user_says_first_do_not_count_as_use() -> None:
    state = pending()
    terms = state[0]["terms"]
    used, unused = terms[:2], terms[2:]
    state, _ = injection.judge(state, [user("go on"), agent(" ".join(used))], turn_ended=False)
    assert state[0]["used"] == 2
    state, verdicts = injection.judge(state, [user(" ".join(unused[1:]))], turn_ended=False)
    assert (state[0]["terms"], verdicts) == (unused[:1], [])
    assert injection.judge(state, [agent(unused[0])])[1] == [("m1", "echo", 3)]
    state, _ = injection.judge(pending(), [user(" ".join(terms[2:]))])
    assert state == [], "two words that are left tell nothing"


VOCABULARY = ["lease", "archiver", "deadlocks", "0093", "webhook", "weather", "go", "unique"]
sentences = st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join)
results = sentences.map(lambda text: entries.result_entry("c", text, False))
spoken = st.lists(st.one_of(sentences.map(user), sentences.map(agent), results), max_size=14)


@given(spoken, st.lists(st.integers(0, 14), max_size=4))
def test_judging_in_pieces_gives_the_same_verdicts(items: list[Entry], cuts: list[int]) -> None:
    expected_state, expected = injection.judge(pending(), items)
    state, pieces = pending(), []
    edges = [0, *sorted(min(cut, len(items)) for cut in cuts), len(items)]
    for start, end in itertools.pairwise(edges):
        state, verdicts = injection.judge(state, items[start:end], turn_ended=False)
        pieces += verdicts
    state, verdicts = injection.judge(state, [])
    assert pieces + verdicts == expected
    assert state == expected_state


@given(st.lists(st.text(max_size=60), max_size=30), spoken)
def test_any_text_is_kept_within_bounds_and_judged_at_most_once(texts: list[str], items: list[Entry]) -> None:
    given_memories = [memory(text, f"m{at}") for at, text in enumerate(texts)]
    state_ = blank("a word")
    injection.await_use(state_, given_memories, "known")
    assert len(state_.to_json()["pendingFeedback"]) <= 16
    state = state_.pending_feedback
    for entry in state:
        assert injection.FEWEST_TERMS <= len(entry["terms"]) <= TERMS_KEPT
        assert not words.STOP_WORDS & set(entry["terms"])
    state, verdicts = injection.judge(state, items * 2)
    identifiers = [verdict[0] for verdict in verdicts]
    assert len(identifiers) == len(set(identifiers))
    assert not set(identifiers) & {entry["id"] for entry in state}


def stored(run: Run, identifier: str) -> dict[str, Any]:
    lines = [json.loads(line) for line in run("memory", "export").out.splitlines()]
    return next(line for line in lines if line["id"] == identifier)


def write(run: Run, *identifiers: str) -> None:
    about = {"collection": "observations", "created_at": NOW_MS}
    lines = [{**about, "id": name, "text": f"{LEASE} ({name})"} for name in identifiers]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)), env=NOW)


def settle(home: Path, monkeypatch: pytest.MonkeyPatch, *verdicts: injection.Verdict) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    session = Session("s1", Config({}))
    session.now = NOW_MS + 5
    session.store.write("feedback", lambda db: injection.move_priorities(db, verdicts, session), None)


def test_priorities_move_within_bounds_and_use_is_noted(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(run, "up", "down", "gone")
    run("memory", "forget", "gone")
    settle(home, monkeypatch, ("up", "echo", 4), ("down", "fizzle", 0), ("gone", "echo", 3), ("never", "echo", 3))
    up, down = stored(run, "up"), stored(run, "down")
    assert up["retrieval_priority"] == 0.1
    assert up["last_used_at"] == "2026-09-21T14:13:20.005Z"
    assert down["retrieval_priority"] == -0.05
    assert "last_used_at" not in down
    events = run("otel", "search", "memory", "--component", "memory-feedback", env=at_ms(9)).result["events"]
    by_action = {event["action"]: event["metadata"] for event in events}
    assert set(by_action) == {"memory.echo", "memory.fizzle"}
    assert by_action["memory.echo"]["memoryId"] == "up"
    assert by_action["memory.echo"]["termsMatched"] == 4
    settle(home, monkeypatch, *[("up", "echo", 3)] * 15, *[("down", "fizzle", 0)] * 30)
    assert stored(run, "up")["retrieval_priority"] == 1.0
    assert stored(run, "down")["retrieval_priority"] == -1.0


@pytest.mark.spawned
def test_a_fault_in_the_middle_moves_nothing(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(run, "up")
    from otel import log

    def broken(*_: object, **__: object) -> int:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(log, "append", broken)
    settle(home, monkeypatch, ("up", "echo", 4))
    assert stored(run, "up").get("retrieval_priority", 0) == 0


STARTUP = f"Recent decisions and unresolved failures of the gateway: {LEASE}"


@pytest.fixture
def lived(run: Run, tmp_path: Path) -> Lived:
    """A session that began with a memory."""
    lived = Lived(run, tmp_path)
    line = {"id": "start", "collection": "observations", "text": STARTUP, "created_at": lived.now, "project": "gateway"}
    run("memory", "import", "-", stdin=json.dumps(line), env=lived.env())
    assert "archiver" in lived.hook("SessionStart", source="startup")
    return lived


def turn(lived: Lived, prompt: str, answer: str) -> None:
    lived.prompt(prompt)
    lived.answer(answer, 30)


def test_a_memory_given_at_the_start_and_ignored_sinks(run: Run, lived: Lived) -> None:
    for prompt in ("Sort the tide tables", "Now by harbour"):
        turn(lived, prompt, "They are sorted.")
    assert stored(run, "start").get("retrieval_priority", 0) == 0
    turn(lived, "Now by day", "They are sorted by day.")
    assert stored(run, "start")["retrieval_priority"] == -0.05


def test_a_verdict_survives_the_fault_of_a_reaction(run: Run, lived: Lived, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Reaction:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(daily_log, "react", broken)
    lived.prompt("Webhooks come twice, have a look")
    lived.written("assistant", [{"type": "text", "text": USES_IT}])
    lived.hook("PreCompact", trigger="auto", custom_instructions=None)
    assert stored(run, "start")["retrieval_priority"] == 0.1


def test_a_recall_after_an_injection_is_the_last_use(run: Run) -> None:
    """The injection is counted when its event is stored, which may be behind the recall."""
    write(run, "up")
    later = at_ms(60_000)
    assert run("inject", "memory", "--session", "s9", "--query", LEASE, env=NOW).result["injected"]
    run("recall", LEASE, env=later)
    run("otel", "list", env=later)
    shown = stored(run, "up")
    assert (shown["recall_count"], shown["last_used_at"]) == (2, "2026-09-21T14:14:20.000Z")
