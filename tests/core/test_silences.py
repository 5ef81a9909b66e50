"""When something was off, for whom, and which folders are excluded: at the edges of their time and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from core import files, json_text
from core.repository import switches
from core.repository.switches import EVERYWHERE, PROJECT, SESSION, Damaged


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch, home: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    return monkeypatch


def silence(scope: Any = EVERYWHERE, name: str = "", since: int = 10, until: int | None = None) -> Any:
    return {"scope": scope, "name": name, "since": since, "until": until}


@pytest.mark.parametrize(
    ("since", "until", "at", "silent"),
    [
        (10, None, 9, False), (10, None, 10, True), (10, None, 99, True), (10, None, None, True), (10, 20, 9, False),
        (10, 20, 10, True), (10, 20, 19, True), (10, 20, 20, False), (10, 20, None, False), (10, 10, 10, False),
    ],
)  # fmt: skip
def test_what_was_said_in_a_silence(since: int, until: int | None, at: int | None, silent: bool) -> None:
    one = silence(since=since, until=until)
    assert switches.is_silent([one], at) is silent
    assert switches.is_silent([silence(since=0, until=0), one], at) is silent
    assert switches.is_silent([], at) is False


def test_whom_a_silence_concerns_the_widest_first(tmp_path: Path) -> None:
    every = silence(until=20)
    session, other = silence(SESSION, "s"), silence(SESSION, "t")
    project, elsewhere = silence(PROJECT, "acme/Gateway"), silence(PROJECT, "acme/other")
    state: Any = {"silences": [session, other, project, elsewhere, every], "excluded": []}
    folder = str(tmp_path / "gateway")
    assert list(switches.concerning(state, "s", folder)) == [every, project, session]
    assert list(switches.concerning(state, "s", "")) == [every, session]
    assert list(switches.concerning(state, "u", folder)) == [every, project]
    assert switches.off(state, "s", folder) == project
    assert switches.off(state, "s", str(tmp_path)) == session
    assert switches.off(state, "u", str(tmp_path)) is None


def test_a_folder_below_one_that_is_excluded_is_excluded(tmp_path: Path) -> None:
    def excluded(folder: str, *rows: str) -> bool:
        return switches.is_excluded({"silences": [], "excluded": list(rows)}, folder)

    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    real = str((tmp_path / "a").resolve())
    assert (
        excluded(real, real) and excluded(f"{real}/b/c", "/else", real) and excluded(str(tmp_path / "link" / "b"), real)
    )
    assert excluded("/x", "/") and excluded("/", "/")
    assert not excluded(real + "b", real) and not excluded(str(tmp_path), real) and not excluded(real)
    assert not excluded("", "/") and not excluded("a\0b", "/")


def test_switching_off_and_on_tells_what_changed(frozen: pytest.MonkeyPatch) -> None:
    first = silence(PROJECT, "acme/gateway", NOW_MS)
    assert switches.turn_off(PROJECT, "acme/gateway") == (first, True)
    frozen.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 5))
    assert switches.turn_off(PROJECT, "gateway") == (first, False), "it is the same project"
    second = silence(SESSION, "s", NOW_MS + 5)
    assert switches.turn_off(SESSION, "s") == (second, True)
    assert switches.read() == {"silences": [first, second], "excluded": []}
    frozen.setenv("JOELCLAW_NOW_MS", str(NOW_MS - 9))
    assert switches.turn_on(SESSION, "t") is switches.turn_on(EVERYWHERE, "") is False
    assert switches.turn_on(PROJECT, "gateway") is True, "no silence ends before it began"
    assert switches.read()["silences"] == [{**first, "until": NOW_MS}, second]
    assert switches.turn_on(PROJECT, "gateway") is False
    frozen.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 7))
    assert switches.turn_off(PROJECT, "acme/gateway") == (silence(PROJECT, "acme/gateway", NOW_MS + 7), True)
    assert switches.turn_on(SESSION, "s") is True
    assert [one["until"] for one in switches.read()["silences"]] == [NOW_MS, NOW_MS + 7, None]


def test_of_the_silences_that_are_over_the_last_500_are_kept() -> None:
    over = [silence(SESSION, f"s{number}", number, number) for number in range(500)]
    held = silence(SESSION, "held")
    files.write_whole(switches.path(), json_text.dumps({"silences": [held, *over[:499]], "excluded": []}).encode())
    switches.turn_off(SESSION, "new")
    switches.turn_on(SESSION, "new")
    new = silence(SESSION, "new", NOW_MS, NOW_MS)
    assert switches.read()["silences"] == [held, *over[:499], new]
    switches.turn_off(SESSION, "newer")
    switches.turn_on(SESSION, "newer")
    assert switches.read()["silences"] == [held, *over[1:499], new, silence(SESSION, "newer", NOW_MS, NOW_MS)]


def test_folders_are_excluded_in_order_and_once() -> None:
    assert [switches.exclude(folder) for folder in ("/b", "/a", "/b")] == [True, True, False]
    assert switches.read()["excluded"] == ["/a", "/b"]
    assert [switches.include(folder) for folder in ("/a", "/a", "/c")] == [True, False, False]
    assert switches.read() == {"silences": [], "excluded": ["/b"]}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"silences": []}', '{"excluded": []}', '{"silences": [{}], "excluded": []}', b"\xff",
     '{"silences": [{"scope": "all", "name": "", "since": 1, "until": null}], "excluded": []}',
     '{"silences": [{"scope": "session", "name": "", "since": "x", "until": null}], "excluded": []}'],
)  # fmt: skip
def test_a_file_that_holds_something_else_is_damaged(home: Path, text: str | bytes) -> None:
    assert switches.sound() == ({"silences": [], "excluded": []}, "")
    home.mkdir()
    path = home / "switches.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(Damaged) as raised:
        switches.read()
    assert raised.value.args[0]
    assert switches.sound() == ({"silences": [], "excluded": []}, f"{path}.damaged-{NOW_MS}")
    assert not path.exists()
