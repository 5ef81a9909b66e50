"""What each form of another tool's memories yields: items as values, what is left out and why, and whose form it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory import importing, other_stores
from memory.other_stores import Item, LeftOut


def told(tmp_path: Path, reader: str, text: str, name: str = "note.md") -> list[Any]:
    """Each item without its key, and each piece that is left out."""
    (tmp_path / name).write_text(text)
    pieces = importing.READERS[reader](str(tmp_path / name))
    return [
        (one.text, one.where, one.tags, one.context, one.category, one.project, one.created_at)
        if isinstance(one, Item)
        else one
        for one in pieces
    ]


NOTE = "---\ntitle: Coffee\npermalink: coffee\ntags:\n- one\n- 'two'\n---\n"
TAGS = ("basic-memory", "one", "two")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- [method] Pour over", ("Pour over", (*TAGS, "method"), "Coffee", "")),
        ("* [Rule] Pour #slow over #hot #thin", ("Pour #slow over", (*TAGS, "Rule", "slow", "hot", "thin"), "Coffee",
                                                "rules")),
        ("- [person] Ana brews (at noon)", ("Ana brews (at noon)", (*TAGS, "person"), "Coffee", "people")),
        ("- [tip] Grind #fine (by hand)", ("Grind (by hand)", (*TAGS, "tip", "fine"), "Coffee", "")),
        ("- [tip] #fine #hot", ("#fine #hot", (*TAGS, "tip", "fine", "hot"), "Coffee", "")),
        ("- [tip] (all of it)", ("(all of it)", (*TAGS, "tip"), "Coffee", "")),
        ("- [y] yes", ("yes", (*TAGS, "y"), "Coffee", "")),
        ("- goes_with [[Cake]]", ("Coffee goes with Cake", (*TAGS, "relation"), "", "")),
        ('- "goes with" [[Cake|the cake]] (late)', ("Coffee goes with Cake (late)", (*TAGS, "relation"), "", "")),
        ("- 'goes with' [[Cake]]", ("Coffee goes with Cake", (*TAGS, "relation"), "", "")),
        *[(line, None) for line in ("- [ ] open", "- [x] done", "- [X] done", "- [-] off", "- [00:01] spoken",
                                    "- [1:02:03,5 - A] spoken", "- [link](url) text", "- see [[Cake]] there",
                                    "[method] no bullet", "- [method]")],
    ],
)  # fmt: skip
def test_lines_of_a_note(tmp_path: Path, line: str, expected: Any) -> None:
    text = NOTE + f"prose\n{line}\n"
    found = told(tmp_path, "basic-memory", text)
    if expected is None:
        assert [type(one) for one in found] == [LeftOut]
        assert not other_stores.is_note(text)
    else:
        said, tags, context, category = expected
        assert found == [(said, "note.md, line 9", tags, context, category, "", None)]
        assert other_stores.is_note(text)


@pytest.mark.parametrize(
    ("name", "text", "whose"),
    [
        ("a.md", "- text\n", "markdown"), ("a.md", NOTE + "- [a] b\n", "basic-memory"),
        ("a.txt", "- text\n", "ours"), ("a.json", '{"text": "x"}\n', "ours"),
        ("a.json", '{"text": "x", "memory": "y"}\n', "ours"), ("a.json", '\ufeff {"memory": "y"}\n', "mem0"),
        ("a.json", '[{"a": 1},\n {"memory": "y"}]', "mem0"), ("a.json", '{"results":\n [{"memory": "y"}]}', "mem0"),
        ("a.json", '{"type": "entity", "name": "x"}\n', "mcp-memory"), ("a.json", '{"entities": []}', "mcp-memory"),
    ],
)  # fmt: skip
def test_whose_form_a_file_has(tmp_path: Path, name: str, text: str, whose: str) -> None:
    (tmp_path / name).write_text(text)
    assert importing.form_of(str(tmp_path / name)) == whose
