"""Which entry of the table a file belongs to, and the commands that an injection has room for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.config import Config
from session import own_command
from session.reactions import project
from session.reactions.project import _in_settings


def test_the_entry_with_the_longest_folder() -> None:
    for table, path, entry in [
        ({"web": "a", "web/api": "b", "we": "c"}, "/w/web/api/x.ts", "web/api"),
        ({"web/api": "b", "web": "a"}, "/w/web/api/x.ts", "web/api"),
        ({"web": "a"}, "/w/webs/x.ts", None),
        ({"web": "a"}, "/w/web", "web"),
        ({" ./web/ ": "a"}, "/w/web/x.ts", " ./web/ "),
        ({"web/*": "a"}, "/w/web/x.ts", "web/*"),
        ({"web/**": "a"}, "/w/web/x.ts", "web/**"),
        ({"web*": "a"}, "/w/web/x.ts", None),
        ({"/w/web": "a", "../w/web": "b", "web/../web": "c", "": "d", "./": "e"}, "/w/web/x.ts", None),
        ({"a..b": "a"}, "/w/a..b/x.ts", "a..b"),
        ({"src": "a"}, "/w/apps/src/x.ts", "src"),  # as seen from where the agent works
        ({"src": "a"}, "/w/other/src/x.ts", None),
        ({"one": "a", "two": "b"}, "/w/two/x.ts", "two"),
        ({"apps/src": "a", "src": "b"}, "/w/apps/src/x.ts", "apps/src"),
    ]:
        found = _in_settings(path, ("/w", "/w/apps"), table)
        folder = entry.strip().removeprefix("./").rstrip("*").rstrip("/") if entry else ""
        assert found == ((folder, table[entry]) if entry else ("", ""))


def of_file(path: str, cwd: Path, table: dict[str, str]) -> Any:
    settings = Config({})
    settings.scopes = table
    return project.scope_of(path, str(cwd), settings)


def test_a_scope_needs_a_name_and_a_query_of_two_characters(tmp_path: Path) -> None:
    for query, shown in (
        ("", None),
        ("x", None),
        (" x ", None),
        ("xy", "xy"),
        ("x$`y", "x y"),
        ("q " * 60, "q " * 59 + "q"),
    ):
        found = of_file("web/x.ts", tmp_path, {"web": query})
        assert (found.query if found else None) == shown
        assert found is None or found.name == "web"
    assert len(of_file("w" * 81 + "/x.ts", tmp_path, {"w" * 81: "xy"}).name) == 80
    assert len(of_file("web/x.ts", tmp_path, {"web": "y" * 121}).query) == 120


@pytest.mark.parametrize(
    ("longer", "commands", "tokens"),
    [(0, 3, 0), (1, 3, 0), (2, 3, 1), (40, 3, 25), (41, 2, 20), (60, 2, 25), (61, 1, 15), (100, 1, 25), (500, 1, 25)],
)
def test_how_many_commands_have_room_by_the_length_of_our_path(
    monkeypatch: pytest.MonkeyPatch, longer: int, commands: int, tokens: int
) -> None:
    monkeypatch.setattr(own_command, "word", lambda agent="": "x" * (8 + longer))
    assert own_command.most(3, "pi") == commands
    assert (own_command.most(0, "pi"), own_command.most(1, "pi")) == (0, 1)
    assert own_command.uncounted(commands, "pi") == tokens
    assert own_command.uncounted(0, "pi") == 0
    assert own_command.recall("q", "pi") == f'{"x" * (8 + longer)} recall "q" --raw'


def test_the_word_that_finds_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other, empty = (tmp_path / name for name in ("o'urs", "other", "empty"))
    for folder in (ours, other, empty):
        folder.mkdir()
    for folder in (ours, other):
        (folder / "joelclaw").write_text("")
        (folder / "joelclaw").chmod(0o755)
    (empty / "joelclaw").mkdir()
    own = str(ours / "joelclaw")
    for folders, found in (
        ((empty, ours), True), ((other, ours), False), ((), False), (("relative", ours), False),
        ((ours, "relative"), True),
    ):  # fmt: skip
        assert own_command._is_found(own, ":".join(map(str, folders))) is found
    for path, word in (
        (own, "'" + own.replace("'", "'\"'\"'") + "'"),
        ("/opt/joelclaw", "/opt/joelclaw"), ("/a`b/joelclaw", "joelclaw"),
        ("/a\nb/joelclaw", "joelclaw"), ("/a b/joelclaw", "'/a b/joelclaw'"), ("", "joelclaw"),
    ):  # fmt: skip
        monkeypatch.setattr(own_command, "path", lambda path=path: path)
        assert own_command._word(str(empty)) == word
    monkeypatch.setattr(own_command, "path", lambda: own)
    assert own_command._word(str(ours)) == "joelclaw"
