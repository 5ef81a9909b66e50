"""What a memory is made of before it is stored, and what a merge keeps of the older one and takes of the newer."""

from __future__ import annotations

from typing import Any

import pytest

from core.records import Document
from core.store import documents
from memory import write

OLD: dict[str, Any] = {
    "source": "one", "session_id": "s1", "project": "p1", "tags": ["a", "b"], "category_id": "jc:projects",
    "category_confidence": 0.9, "category_source": "annotation", "write_verdict": "hold", "write_confidence": 0.4,
    "write_reason": "old", "write_gate_version": "v0", "write_gate_fallback": True, "merged_count": 3,
    "recall_count": 7, "fingerprint": "f1", "history": [{"text": "before", "at": 1, "source": "zero"}],
}  # fmt: skip
NEW: dict[str, Any] = {
    "source": "two", "session_id": "s2", "project": "p2", "tags": ["b", "c"], "category_id": "jc:preferences",
    "category_confidence": 1.0, "category_source": "flag", "write_verdict": "allow", "write_confidence": 0.8,
    "write_reason": "new", "write_gate_version": "v1", "write_gate_fallback": False, "fingerprint": "f2",
}  # fmt: skip


def old(**more: Any) -> Document:
    return {**documents.blank("observations", "old", "the old text", 100), **OLD, **more}  # type: ignore[typeddict-item]


def new(**more: Any) -> Document:
    return {**documents.blank("observations", "new", "the new text", 200), **NEW, **more}  # type: ignore[typeddict-item]


def test_of_the_older_memory_identity_age_and_counts_stay_and_the_newer_is_what_it_says() -> None:
    assert write.merged(old(), new(), 300) == {
        **old(), **NEW, "text": "the new text", "tags": ["a", "b", "c"], "merged_count": 4, "recall_count": 7,
        "updated_at": 300,
        "history": [*OLD["history"], {"text": "the old text", "at": 100, "source": "one"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("older", "newer", "kept"),
    [
        (("s1", "p1"), ("s2", "p2"), ("s2", "p2")),
        (("s1", "p1"), ("s2", ""), ("s2", "p1")),
        (("s1", ""), ("s2", ""), ("s2", "")),
        (("s1", "p1"), ("", ""), ("", "")),
        (("", ""), ("s2", "p2"), ("", "")),
    ],
)
def test_a_memory_of_every_project_stays_or_becomes_one(
    older: tuple[str, str], newer: tuple[str, str], kept: tuple[str, str]
) -> None:
    one = write.merged(
        old(session_id=older[0], project=older[1]), new(session_id=newer[0], project=newer[1], source=""), 300
    )
    assert (one["session_id"], one["project"], one["source"]) == (*kept, "one")


@pytest.mark.parametrize(
    ("older", "newer", "reason"),
    [
        ("hold", "allow", "new"), ("hold", "hold", "new"), ("hold", "discard", "old"),
        ("allow", "hold", "old"), ("allow", "allow", "new"), ("discard", "hold", "new"),
    ],
)  # fmt: skip
def test_of_two_verdicts_the_better_holds_with_all_that_belongs_to_it(older: str, newer: str, reason: str) -> None:
    one = write.merged(old(write_verdict=older), new(write_verdict=newer), 300)
    whose = new(write_verdict=newer) if reason == "new" else old(write_verdict=older)
    for name in ("verdict", "confidence", "reason", "gate_version", "gate_fallback"):
        assert one[f"write_{name}"] == whose[f"write_{name}"], name  # type: ignore[literal-required]


@pytest.mark.parametrize(
    ("older", "newer", "taken"),
    [
        (("flag", "jc:projects"), ("flag", "jc:preferences"), True),
        (("flag", "jc:projects"), ("annotation", "jc:preferences"), False),
        (("annotation", "jc:projects"), ("keyword", "jc:preferences"), False),
        (("fallback", "jc:operations"), ("keyword", "jc:projects"), True),
        (("keyword", "jc:projects"), ("flag", "jc:operations"), False),
        (("keyword", "jc:projects"), ("another", "jc:preferences"), False),
    ],
)
def test_the_better_founded_category_holds(older: tuple[str, str], newer: tuple[str, str], taken: bool) -> None:
    first = old(category_source=older[0], category_id=older[1], category_confidence=0.25)
    second = new(category_source=newer[0], category_id=newer[1], category_confidence=0.75)
    one = write.merged(first, second, 300)
    source, category = newer if taken else older
    assert (one["category_source"], one["category_id"]) == (source, category)
    assert one["category_confidence"] == (0.75 if taken else 0.25)


def test_a_secret_that_a_line_break_parts_is_found_when_the_lines_are_joined() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kinds: list[str] = []
    assert secret not in write.clean_name(f"the token\n{secret}", kinds)
    assert kinds
