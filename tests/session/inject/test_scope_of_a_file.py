"""Which entry of the table a file belongs to, and the commands that an injection has room for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.config import Config
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
