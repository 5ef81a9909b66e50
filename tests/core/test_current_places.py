"""The current line of a name is looked up in the project's own files only."""

import os
import time
from pathlib import Path

import pytest

from core.project import current_lines
from core.records import Place

SOURCE = """package tides

// highWater is told by spring_tide and neapTide.
func highWater(day int) int {
\treturn neapTide(day) + 2
}

func neapTide(day int) int {
\treturn highWaterMark
}
"""


def place(name: str, line: int, *, file: str = "src/tide.go", defines: bool = False) -> Place:
    return {"file": file, "name": name, "line": line, "number": 3, "shown": 1, "defines": defines}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "tide.go").write_text(SOURCE)
    return tmp_path / "project"


def current(folder: Path, *places: Place) -> list[tuple[str, int, bool]]:
    looked_up = [found for found, _ in current_lines(str(folder), places, time.monotonic() + 60)]
    return [(place["name"], place["line"], place["defines"]) for place in looked_up]


@pytest.mark.parametrize(("name", "line", "defines", "now"), [
    ("highWater", 1, False, (3, False)),  # the line that is nearest
    ("highWater", 90, False, (4, False)),
    ("highWater", 90, True, (4, True)),
    ("neapTide", 3, True, (8, True)),  # one that defines it before a use that is nearer
    ("neapTide", 6, False, (5, False)),
    ("spring_tide", 9, True, (3, False)),  # it is defined no more
    ("highWaterMark", 1, False, (9, False)),
    ("tide", 3, False, None),  # no whole word
    ("gone", 3, False, None),
    ("", 5, False, (5, False)),
    ("", 50, False, (11, False)),
])  # fmt: skip
def test_a_names_current_line_is_found(
    folder: Path, name: str, line: int, defines: bool, now: tuple[int, bool] | None
) -> None:
    assert current(folder, place(name, line, defines=defines)) == ([(name, *now)] if now else [])


def test_missing_names_are_left_out_and_the_order_stays(folder: Path) -> None:
    (folder / "other.go").write_text("highWater()\n")
    names = [
        *(place("neapTide", 8), place("highWater", 4, file="gone.go"), place("highWater", 9, file="other.go")),
        *(place("noSuchName", 4), place("highWater", 4)),
    ]
    assert current(folder, *names) == [("neapTide", 8, False), ("highWater", 1, False), ("highWater", 4, False)]


def large(path: Path) -> None:
    path.write_text("neapTide\n" + " " * (1 << 20))


@pytest.mark.parametrize("make", [
    lambda path: path.symlink_to(path.parent.parent.parent / "secret.go"), lambda path: path.symlink_to("/dev/zero"),
    large, os.mkfifo, Path.mkdir,
])  # fmt: skip
def test_anything_but_a_regular_file_of_the_project_is_refused(folder: Path, make: object) -> None:
    (folder.parent / "secret.go").write_text("neapTide\n")
    path = folder / "src" / "made.go"
    make(path)  # type: ignore[operator]
    assert current(folder, place("neapTide", 1, file="src/made.go"), place("", 1, file="src/made.go")) == []


@pytest.mark.parametrize("file", ["../secret.go", "{root}/secret.go", "src/../../secret.go", "a\0b", ""])
def test_no_path_leads_out_of_the_project(folder: Path, file: str) -> None:
    (folder.parent / "secret.go").write_text("neapTide\n")
    assert current(folder, place("neapTide", 1, file=file.format(root=folder.parent))) == []


def test_files_not_searched_in_time_are_left_out(folder: Path) -> None:
    assert current_lines(str(folder), [place("neapTide", 8)], time.monotonic()) == []
