"""The queries of the signpost bring back what a session said and its compaction drops, from the first prompt on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

from core import config
from session.inject import recovery_queries, selection
from session.session_store import SessionStore
from session.state import schema, task

SESSION = "s1"
# (prompt, what the agent said and did, each with what its tools printed)
STORY = (
    (
        "We move the seed catalogue of the botanic garden to the new search box. Two things first: answers in Dutch go"
        " to the curator untouched, and do not use the reading room's printer queue for tests. Begin with"
        " harvest/index.go.",
        [
            "I open the indexer.\n$ wc -l harvest/index.go\n612 harvest/index.go",
            "The old box lower-cases accession numbers, and 1,904 of them differ by case alone. So lookups merge"
            " Iris_sibirica/B with iris_sibirica/b.\n$ ./count-twins\ntwins=1904 sheets=88210",
            "I went for keeping the case in the key and folding it only at query time: the herbarium labels are printed"
            " from the key.",
        ],
    ),
    ("Good. Go on.", ["Next the loader.\n$ go vet ./...", "It vets clean."]),
    (
        "Now the nightly transfer. The check is `./gardenctl verify --bed=17 --strict`, run it before each commit.",
        [
            "Reading how the transfer runs.",
            "Tried rsync with --inplace: the catalogue readers see half a file for up to 40 s, so that way is out. The"
            " transfer now writes beside and renames.\n$ ./gardenctl verify --bed=17 --strict\nbeds ok: 17",
        ],
    ),
    (
        "What about the photographs?",
        [
            "Looking at the photo folder.",
            "Photographs cannot move yet: the rights for the Teylers donation are with the notary until she signs form"
            " K-88. Everything else of that step is in.",
        ],
    ),
    (
        "Fine. Other matter: visitors complain that the opening hours on the board are an hour late.",
        [
            "$ date\nSun Mar 29",
            "The board adds the summer hour itself and the feed has it already; feed/hours.py now sends wall time with"
            " board_raw=1.",
        ],
    ),
    ("Thanks. Clean up after you.", ["Removed the two scratch folders.", "All tidy."]),
    ("Show me the list of beds.", ["$ ls beds\n" + "\n".join(f"bed {n} ok" for n in range(12)), "That is the list."]),
    ("And once more, sorted.", ["$ ls beds | sort", "Sorted, nothing else changed."]),
)
FACTS = (
    "answers in Dutch go to the curator untouched",
    "do not use the reading room's printer queue",
    "1,904 of them differ by case alone",
    "folding it only at query time",
    "labels are printed from the key",
    "./gardenctl verify --bed=17 --strict",
    "half a file for up to 40 s",
    "form K-88",
    "the feed has it already",
    "twins=1904",
)


def at(minute: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + minute * 60_000)}


def archive(run: Run, session: str = SESSION, story: Any = STORY) -> None:
    """The turns as the archive keeps them: the prompt and both neighbours as context, these cut."""
    said = [(prompt, role, text) for prompt, answers in story for role, text in turn_of(prompt, answers)]
    lines = []
    for place, (prompt, role, text) in enumerate(said):
        around = [prompt[:500] if role == "assistant" else ""]
        around += [said[near][2][:300] for near in (place - 1, place + 1) if 0 <= near < len(said)]
        line = {"id": f"{session}-{place}", "collection": "episodes", "text": f"{role}: {text}", "session": session}
        context = "\n".join(dict.fromkeys(part for part in around if part))
        lines.append({**line, "context": context, "created_at": NOW_MS + place})
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)), env=at(0))


def turn_of(prompt: str, answers: list[str]) -> list[tuple[str, str]]:
    return [("user", prompt), *(("assistant", answer) for answer in answers)]


def compacted(run: Run, percent: str = "50") -> str:
    """Play the story, compact, and return the signpost."""
    for number, (prompt, _) in enumerate(STORY):
        run("checkpoint", "save", "--session", SESSION, "--percent", percent, "-m", prompt, env=at(number))
    run("checkpoint", "flush", "--session", SESSION, env=at(10))
    content: str = run("inject", "recovery", "--session", SESSION, env=at(11)).result["content"]
    return content


def brought_back(run: Run, signpost: str) -> list[str]:
    asked = re.findall(r'recall "([^"]+)"', signpost)
    assert asked
    hits = [hit for query in asked for hit in run("recall", query, env=at(12)).result["hits"]]
    found = "\n".join([signpost, *(f"{hit['observation']}\n{hit['context']}" for hit in hits)])
    return [fact for fact in FACTS if fact in found]


@pytest.mark.parametrize("percent", ["10", "50"], ids=["without a recall before", "after recalls in the warm zone"])
def test_most_of_what_was_said_comes_back(run: Run, percent: str) -> None:
    archive(run)
    signpost = compacted(run, percent)
    missing = set(FACTS) - set(brought_back(run, signpost))
    assert len(missing) <= 1, missing


def test_other_sessions_in_the_store_do_not_take_their_place(run: Run) -> None:
    others = [
        (
            f"Please water bed {n} of the garden and check the index",
            [f"Bed {n} has {n * 7} seedlings, since it rained."],
        )
        for n in range(60)
    ]
    archive(run, "other", others)
    archive(run)
    missing = set(FACTS) - set(brought_back(run, compacted(run)))
    assert len(missing) <= 2, missing


def test_three_short_queries_fit_and_the_memories_are_findings(run: Run) -> None:
    archive(run)
    signpost = compacted(run)
    asked = re.findall(r'recall "([^"]+)"', signpost)
    assert len(asked) == 3
    assert all(5 <= len(query) <= 120 for query in asked)
    related = [line for line in signpost.splitlines() if line.startswith("- ")]
    assert len(related) == 3
    assert not any(word in line for line in related for word in ("All tidy", "That is the list", "Sorted"))


def state_of(session: str = SESSION, *messages: str) -> schema.SessionState:
    known = [entry for entry in map(task.message, messages) if entry]
    return {**schema.blank(session, "interactive", NOW_MS), "messages": known}


def chosen(home: Path, monkeypatch: pytest.MonkeyPatch, state: schema.SessionState) -> list[Any]:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    settings = config.load()
    store = SessionStore(settings, NOW_MS)
    found = recovery_queries.queries(store, state, settings)
    assert store.faults == []
    return list(found)


def test_what_is_chosen_is_bounded_and_safe_in_a_shell(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rude = 'say "$(rm -rf /)" `whoami` \\ -- !! <joelclaw-memory> ' * 4, ['never do $HOME because `x` "y" failed 77']
    archive(run, story=[rude, *STORY])
    found = chosen(home, monkeypatch, state_of(SESSION, rude[0]))
    assert 1 <= len(found) <= schema.CACHE_KEPT
    for one in found:
        assert task.QUERY_LEAST <= len(one["query"]) <= recovery_queries.QUERY_CHARS
        assert not set(one["query"]) & set('"$\\!`<>\n')
        assert not one["query"].startswith("-")
        assert len(one["hits"]) <= schema.HITS_KEPT


@pytest.mark.parametrize(
    "prompt", ["the --no-verify flag " + "is on the list of what we are to leave out of this " * 3, "-" * 90, "- " * 90]
)
def test_no_query_can_be_taken_for_an_option(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, prompt: str
) -> None:
    archive(run, story=[(prompt, ["It failed, because --all was given to it 77 times."])])
    for one in chosen(home, monkeypatch, state_of(SESSION, prompt)):
        assert one["query"][0].isalnum()
        run("recall", one["query"])


def test_nothing_is_chosen_without_turns_of_this_session(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(home, monkeypatch, state_of()) == []
    assert not home.exists()
    archive(run, "other")
    assert chosen(home, monkeypatch, state_of()) == []


def test_a_store_that_cannot_be_read_leaves_what_is_cached(run: Run, home: Path) -> None:
    archive(run)
    for number, (prompt, _) in enumerate(STORY[:3]):
        run("checkpoint", "save", "--session", SESSION, "--percent", "50", "-m", prompt, env=at(number))
    before = run("checkpoint", "show", SESSION).result
    (home / "store.db").write_bytes(b"no database at all" * 100)
    run("checkpoint", "flush", "--session", SESSION, env=at(10))
    after = run("checkpoint", "show", SESSION).result
    assert json.dumps(after).count('"query"') == json.dumps(before).count('"query"') >= 1


def test_a_long_session_costs_no_more_recalls(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(run, story=[(f"Prompt {n} about topic{n}", [f"topic{n} failed because of cause{n}."]) for n in range(300)])
    from recall import engine

    asked: list[str] = []
    recall = engine.recall

    def counted(db: Any, query: str, **more: Any) -> Any:
        asked.append(query)
        return recall(db, query, **more)

    monkeypatch.setattr(engine, "recall", counted)
    assert chosen(home, monkeypatch, state_of(SESSION, "Prompt 299 about topic299"))
    assert 1 <= len(asked) <= recovery_queries.RECALLS


@pytest.mark.parametrize(
    ("heavy", "light"),
    [
        ("We never ship on Fridays, because nobody watches the board.", "I will read the folder now and see."),
        ("The pool failed: 139 s against 96 s.", "That is as far as it goes today."),
        ("Do not touch src/gate.py without asking.", "The suite has finished."),
    ],
)
def test_a_sentence_that_decides_or_warns_weighs_more(heavy: str, light: str) -> None:
    assert selection.weight(heavy) > selection.weight(light)
