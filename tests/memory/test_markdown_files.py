"""Which files below a folder are markdown that is read, what is told of the others, and how much of one is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memory.knowledge.markdown_files import below, decode, is_below, read


def test_markdown_is_found_in_the_order_of_paths_and_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    for name in ("b.md", "a.MDX", "sub/c.markdown", "sub2/d.md", ".hidden/e.md", ".f.md", "node_modules/g.md", "h.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (tmp_path / "outside.md").write_text("x")
    (tmp_path / "outside").mkdir()
    (folder / "in.md").symlink_to(folder / "b.md")
    (folder / "out.md").symlink_to(tmp_path / "outside.md")
    (folder / "out.txt").symlink_to(tmp_path / "outside.md")
    (folder / "outer").symlink_to(tmp_path / "outside")
    (folder / "z.md").mkdir()
    found = below(str(folder))
    assert [str(Path(path).relative_to(folder)) for path in found.files] == [
        "a.MDX", "b.md", "sub/c.markdown", "sub2/d.md",
    ]  # fmt: skip
    assert found.problems == [
        (str(folder / name), "a link out of the folder is not followed") for name in ("out.md", "outer")
    ]
    assert (found.unread, found.complete) == ([], True)
    late = below(str(folder), until=time.monotonic() - 1)
    assert (late.files, late.complete) == ({}, False)
    gone = below(str(tmp_path / "gone"))
    assert gone.unread == [str(tmp_path / "gone")] and gone.problems[0][1].startswith("cannot be listed: ")


@pytest.mark.parametrize(
    ("path", "folder", "is_in"),
    [("/a", "/a", True), ("/a/b", "/a", True), ("/a/b", "/a/", True), ("/ab", "/a", False), ("/a", "/", True)],
)
def test_what_lies_below_a_folder(path: str, folder: str, is_in: bool) -> None:
    assert is_below(path, folder) is is_in


@pytest.mark.parametrize(("size", "more"), [(0, False), (4, False), (5, True)])
def test_so_much_of_a_file_is_read(tmp_path: Path, size: int, more: bool) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * size)
    assert read(str(tmp_path / "a.md"), 4) == (b"x" * min(size, 4), more)
    with pytest.raises(OSError, match="regular"):
        read("/dev/null")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x" * 8192 + b"\0", "x" * 8192 + "\ufffd"), (b"x" * 8191 + b"\0", None),
        ("# é".encode("utf-16-be"), None), (b"\xfe\xff" + "é".encode("utf-16-be"), "é"), (b"", ""),
    ],
)  # fmt: skip
def test_bytes_with_a_zero_at_the_beginning_are_no_text(data: bytes, text: str | None) -> None:
    assert decode(data) == text
