"""`make redaction-bench` keeps every part of the corpus within its bounds, or fails."""

import sys

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
        work, test_half = corpus.halves(every)
        assert sorted(map(repr, work + test_half)) == sorted(map(repr, every))
        assert {item.text for item in work}.isdisjoint(item.text for item in test_half)
        assert corpus.halves(every) == (work, test_half)
        assert all(bool(item.secrets) == (name == FILES[0]) for item in every)
