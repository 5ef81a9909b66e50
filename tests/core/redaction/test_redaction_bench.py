"""`make redaction-bench`: every part of the corpus within the bounds, and what it does where they are not kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT

BENCH = ROOT / "bench"
sys.path.append(str(BENCH))

import redaction as bench  # noqa: E402
import redaction_corpus as corpus  # noqa: E402

FILES = ("secrets.txt", "harmless.txt")


@pytest.mark.parametrize("part", bench.PARTS)
def test_a_part_is_within_the_bounds(part: str) -> None:
    secrets, missed, harmless, changed = bench.wrong(part)
    least = {"held out later": 40, "promised": 20, "code and output": 40, "settings of servers": 30}.get(part, 75)
    assert len(secrets) >= least and len(harmless) >= least
    assert 1 - len(missed) / len(secrets) >= bench.DETECTION
    assert len(changed) / len(harmless) <= bench.FALSE_POSITIVES


def test_the_halves_are_the_corpus_and_share_nothing() -> None:
    for name in FILES:
        every = corpus.items(name)
        work, kept = corpus.halves(every)
        assert sorted(map(repr, work + kept)) == sorted(map(repr, every))
        assert {item.text for item in work}.isdisjoint(item.text for item in kept)
        assert corpus.halves(every) == (work, kept)
        assert all(bool(item.secrets) == (name == FILES[0]) for item in every)


def test_a_stretch_of_a_secret_counts_as_the_secret() -> None:
    item = corpus.Item("x", "the word abcdefgh stands", ("abcdefgh",))
    assert not bench.is_out(item) and not bench.is_changed(item)
    assert corpus.stretches("abcdefgh") == ["abcdef", "bcdefg", "cdefgh"] and corpus.stretches("abc") == ["abc"]
    told = corpus.Item("x", "password=hunter2horse", ("hunter2horse",))
    assert bench.is_out(told) and bench.is_changed(told)
    assert not bench.is_out(corpus.Item("x", "password=hunter2horse and hunter2h", ("hunter2horse",)))


def test_a_secret_that_stands_in_its_frame_too_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "FOLDER", tmp_path)
    (tmp_path / "secrets.txt").write_text("== a\nx «⟦hex 8⟧» y\n== b\nmy hunter and «hunter2»\n")
    with pytest.raises(ValueError, match="item 1: 'hunter2' stands in its frame too"):
        corpus.items("secrets.txt")
    (tmp_path / "secrets.txt").write_text("== a\nx «⟦hex 8⟧» y\n== b\nme and gh⟦⟧p_«hunter2»\n")
    first, second = corpus.items("secrets.txt")
    assert first.kind == "a" and first.text == f"x {first.secrets[0]} y" and len(first.secrets[0]) == 8
    assert second.text == "me and ghp_hunter2"
    assert corpus.items("secrets.txt") == [first, second]
