"""`make redaction-bench` keeps the corpus within its bounds, or fails."""

import sys

from conftest import ROOT

BENCH = ROOT / "bench"
sys.path.append(str(BENCH))

import redaction as bench  # noqa: E402
import redaction_corpus as corpus  # noqa: E402

FILES = ("secrets.txt", "harmless.txt")


def test_the_corpus_is_within_the_bounds() -> None:
    counts = [list(map(len, bench.wrong(part))) for part in bench.PARTS]
    secrets, missed, harmless, changed = map(sum, zip(*counts, strict=True))
    assert secrets == 481 and harmless == 547
    assert 1 - missed / secrets >= bench.DETECTION
    assert changed <= bench.FALSE_POSITIVES


def test_the_halves_are_the_corpus_and_share_nothing() -> None:
    for name in FILES:
        every = corpus.items(name)
        work, test_half = corpus.halves(every)
        assert sorted(map(repr, work + test_half)) == sorted(map(repr, every))
        assert {item.text for item in work}.isdisjoint(item.text for item in test_half)
        assert corpus.halves(every) == (work, test_half)
        assert all(bool(item.secrets) == (name == FILES[0]) for item in every)
