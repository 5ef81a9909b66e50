"""What a purge takes out of a state, a daily log and the spool: the texts that quote, and of ours the whole section."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import clock
from core.config import Config
from core.store.upkeep.purge import Criteria
from session.backup import traces
from session.backup.traces import Sweeper, Traces

AT = clock.parse_iso("2026-09-21T10:00:00Z") or 0
DAY = 86_400_000


@pytest.fixture(autouse=True)
def home_of_the_test(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))


def sweeper(*sessions: str, words: Any = (), dry: bool = True, **asked: Any) -> Sweeper:
    selection: Any = SimpleNamespace(sessions=list(sessions), words=set(words))
    return Sweeper(Criteria(**asked), selection, Config({}), dry=dry)


def test_a_text_quotes_by_what_is_asked_for_or_by_a_word_of_what_goes() -> None:
    one = sweeper(words={"harb"}, match="Blue  Jar")
    assert [one._quotes(text) for text in ("a BLUE  JAR b", "a harb b", "harbour blue jar", "")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert not sweeper()._quotes("anything")


def test_of_a_value_the_texts_that_quote_are_taken_and_of_a_list_the_whole_element() -> None:
    value = {
        "a": "the jar", "b": "fine", "c": [1, {"x": ["the jar"]}, "fine"], "the jar": 1, "d": {"e": "jar", "f": 2},
        "g": None, "h": True,
    }  # fmt: skip
    assert sweeper(match="jar")._without(value) == {
        "a": "", "b": "fine", "c": [1, "fine"], "d": {"e": "", "f": 2}, "g": None, "h": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "session", "updated", "goes"),
    [
        ({}, "gone", None, True),
        ({"before": AT}, "s", AT - 1, True),
        ({"before": AT}, "s", AT, False),
        ({"before": AT}, "s", "soon", False),
        ({}, "s", 0, False),
        ({"before": AT, "match": "x"}, "s", 0, False),
        ({"before": AT, "documents": frozenset({"m"})}, "s", 0, False),
        ({"before": AT, "session": "other"}, "s", 0, False),
        ({"before": AT, "session": "s"}, "s", 0, True),
        ({"before": AT, "project": "p"}, "s", 0, False),
        ({"before": AT, "project": "p", "live": frozenset({"s"})}, "s", 0, True),
    ],
)
def test_a_state_goes_with_its_session_or_by_its_age(asked: Any, session: str, updated: Any, goes: bool) -> None:
    assert sweeper("gone", **asked)._goes(session, {"updatedAt": updated}) is goes


LOG = """# notes
the jar is mine
fine

## 10:00 · session gone-1 · pi
- a
## 11:00 · session kept-1 · pi
- the jar
- fine
## of my own
- fine
- the jar
## 12:00 · session kept-2 · pi
- fine"""


def test_of_a_log_our_sections_go_whole_and_a_person_s_lines_by_themselves() -> None:
    left, gone = sweeper("gone-1", match="jar")._without_sections(LOG, "2026-09-21.md")
    assert left == "# notes\nfine\n\n## of my own\n- fine\n## 12:00 · session kept-2 · pi\n- fine"
    assert gone == 4
    assert sweeper()._without_sections(LOG, "2026-09-21.md") == (LOG, 0)


@pytest.mark.parametrize(
    ("asked", "goes"),
    [
        ({"before": AT}, False), ({"before": AT + DAY}, True), ({}, False), ({"before": AT + DAY, "match": "x"}, False),
        ({"before": AT + DAY, "session": "x"}, False), ({"before": AT + DAY, "project": "x"}, False),
        ({"before": AT + DAY, "calls": frozenset({("s", 1)})}, False),
    ],
)  # fmt: skip
def test_a_section_of_ours_goes_by_its_day_where_only_a_time_is_named(asked: Any, goes: bool) -> None:
    section = ["## 12:00 · session kept-2 · pi\n", "- fine\n"]
    assert sweeper(**asked)._section_goes(section, "2026-09-21.md") is goes


def test_a_line_that_waits_goes_with_its_session_or_where_it_quotes() -> None:
    one = sweeper("gone", match="jar")
    lines = [
        b'{"sessionId": "gone"}', b'{"sessionId": "kept"}', b'{"sessionId": "kept", "text": "a Jar"}', b'["gone"]',
        b"half gone", b"half a jar \xff",
    ]  # fmt: skip
    assert [one._line_goes(line) for line in lines] == [True, False, True, False, False, True]


def test_the_lines_of_each_section_stand_with_their_heading() -> None:
    assert traces._sections("a\n# b\nc\r\n## d") == [["a\n"], ["# b\n", "c\r\n"], ["## d"]]
    assert traces._sections("# a\n") == [["# a\n"]]
    assert traces._sections("") == []


def test_a_second_look_adds_what_is_new_and_counts_what_is_more() -> None:
    first = Traces(["a"], ["b"], 1, 2, ["c"], ["d"], ["e"])
    first.add(Traces(["a", "f"], ["b", "g"], 3, 4, ["c", "h"], ["i"], ["e", "j"]))
    assert first == Traces(["a", "f"], ["b", "g"], 4, 6, ["c", "h"], ["d"], ["e", "j"])


@pytest.mark.parametrize("dry", [True, False])
def test_the_files_of_a_home_are_named_or_deleted_by_what_they_are(home: Path, tmp_path: Path, dry: bool) -> None:
    def lies(name: str, text: str) -> Path:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    quoting = "the jar"
    by_hand = [lies("config.toml", quoting), lies("installs/a.json", quoting)]
    gone = [
        lies("sessions/left.tmp", quoting), lies("cache/x", quoting), lies("config.toml.damaged-1", quoting),
    ]  # fmt: skip
    kept = [
        lies("cache/y", "fine"), lies("mine.txt", quoting), lies("store.db", quoting), lies("store.db-wal", quoting),
        lies("backups.json", quoting), lies("knowledge.json", "fine"),
    ]  # fmt: skip
    target = tmp_path / "target"
    target.write_text(quoting)
    (home / "cache" / "link").symlink_to(target)
    spooled = json.dumps({"sessionId": "s", "text": quoting}) + '\n{"text": "fine"}\n'
    lies("spool/events.jsonl", spooled)
    found = sweeper(match="jar", dry=dry).run()
    assert found == Traces(
        spooled=1, by_hand=[str(one.relative_to(home)) for one in by_hand], linked=[str(target)],
        deleted=[str(one.relative_to(home)) for one in gone],
    )  # fmt: skip
    assert [one.exists() for one in gone] == [dry] * 3
    assert all(one.exists() for one in [*by_hand, *kept, target])
    left = [path.read_text() for path in (home / "spool").iterdir()]
    assert left == ([spooled] if dry else ['{"text": "fine"}\n'])


def test_what_is_appended_is_private_and_nothing_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    traces._append(str(path), b"")
    assert not path.exists()
    for _ in range(2):
        traces._append(str(path), b"ab")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"abab", 0o600)
    path.write_bytes(b"\xff")
    assert not traces._is_utf8(str(path))
    path.write_bytes("é".encode())
    assert traces._is_utf8(str(path))
