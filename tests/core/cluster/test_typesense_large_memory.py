"""A memory too large to score every term of a query: both sides leave out the same, and the cluster is spared them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, PATIENCE_S, ROOT, clean_environment
from typesense_server import Server, needs_server

from core.store.typesense import statistics

sys.path.insert(0, str(ROOT / "bench"))
from notes import QUERIES, notes

pytestmark = needs_server
COUNT = 240
AFFORDABLE = 25
TOLERANCE = 0.002
DAY_MS = 86_400_000
# `joelclaw`, to which some hundred memories are a large one; each request to a cluster is told.
DRIVER = f"""
import sys
from core.store import candidates
from core.store.typesense import bm25
candidates._AFFORDABLE = bm25.AFFORDABLE = {AFFORDABLE}
candidates._ENOUGH = bm25.ENOUGH = 5
from core.store.typesense.search_client import SearchClient
ask = SearchClient.multi_search
def told(self, searches):
    print(*(search["q"].replace(" ", "_") for search in searches if search["q"] != "*"), file=sys.stderr)
    return ask(self, searches)
SearchClient.multi_search = told
from cli.main import main
sys.exit(main())
"""
Filled = tuple[Path, dict[str, str]]


def call(home: Path, env: dict[str, str], *words: str, given: str = "") -> tuple[str, list[list[str]]]:
    """What the command printed, and the terms of each request to the cluster."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *words],
        input=given,
        text=True,
        capture_output=True,
        env=clean_environment(home, JOELCLAW_NOW_MS=str(NOW_MS), PYTHONPATH=str(ROOT), **env),
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, [line.split() for line in done.stderr.splitlines() if line]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Filled:
    """A home with its memories, all of them on the server too; and what reads them there."""
    home = tmp_path_factory.mktemp("filled")
    cluster = server.environment(JOELCLAW_STORE_PREFIX="large_", JOELCLAW_STORE_TIMEOUT_MS="20000")
    lines = [json.dumps({"text": text, "verdict": "allow"}) for text in notes(COUNT)]
    call(home, {}, "memory", "import", "-", given="\n".join(lines))
    call(home, cluster, "store", "init")
    call(home, cluster, "store", "push")
    return home, cluster


def ask(filled: Filled, env: dict[str, str], queries: list[str]) -> tuple[list[dict[str, Any]], list[list[str]]]:
    given = "\n".join(queries)
    out, asked = call(filled[0], env, "recall", "--batch", "-", "--limit", "100", "--budget", "deep", given=given)
    return [json.loads(line)["result"] for line in out.splitlines()], asked


def test_both_sides_give_every_memory_the_same_score(filled: Filled) -> None:
    choose = random.Random(5)
    texts = list(notes(COUNT))
    queries = [*QUERIES, *(" ".join(choose.sample(choose.choice(texts).split(), 4)) for _ in range(40))]
    queries += ["why did the webhook queue fail in the login flow", "decided", "uses because decided instead"]
    here, _ = ask(filled, {}, queries)
    there, _ = ask(filled, filled[1], queries)
    assert {one["backend"] for one in there} == {"typesense"}
    hits = 0
    for one, other in zip(here, there, strict=True):
        assert [hit["score"] for hit in other["hits"]] == pytest.approx(
            [hit["score"] for hit in one["hits"]], abs=TOLERANCE
        ), one["query"]
        hits += one["count"]
    assert hits > 1_000


def test_a_common_term_is_counted_once_and_searched_for_never(filled: Filled) -> None:
    home, cluster = filled
    for path in (home / "cache").glob("typesense-*-terms.json"):
        path.unlink()
    (first,), asked = ask(filled, cluster, ["decided zentron"])
    assert asked == [["decid"] * 3 + ["zentron"] * 3, ["zentron"] * 3]
    (again,), asked = ask(filled, cluster, ["decided zentron"])
    assert asked == [["zentron"] * 3, ["zentron"] * 3]  # a rare one is asked for each time
    assert again["hits"] == first["hits"]
    (kept,) = (home / "cache").glob("typesense-*-terms.json")
    assert list(json.loads(kept.read_text())["counts"]) == ["decid"]
    assert kept.stat().st_mode & 0o777 == 0o600


def test_common_terms_alone_are_searched_for_together(filled: Filled) -> None:
    (result,), asked = ask(filled, filled[1], ["decided uses instead"])
    assert asked[-1] == ["decid_us_instead"] * 3
    assert result["hits"]
    assert all("decided that the" in hit["observation"] for hit in result["hits"][:5])


def test_where_too_few_hold_them_together_one_is_searched_for(filled: Filled) -> None:
    (_,), asked = ask(filled, filled[1], ["decided tried"])  # no note has both
    assert asked[-2:] == [["decid_tri"] * 3, ["decid"] * 3]


def test_a_query_without_terms_goes_by_its_vector(filled: Filled) -> None:
    (result,), asked = ask(filled, filled[1], ["?! --"])
    assert (result["backend"], result.get("fallback")) == ("typesense", None)
    assert asked == []


@pytest.mark.parametrize("text", ["", "[]", '{"at": 1}', f'{{"at": {NOW_MS}, "documents": 240, "counts": []}}'])
def test_a_damaged_cache_is_no_cache(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    (home / "cache").mkdir(parents=True)
    (home / "cache" / "typesense-x-terms.json").write_text(text)
    assert statistics.Frequencies("x", 240).missing(["decid", "decid", "use"]) == ["decid", "use"]


@pytest.mark.parametrize(
    ("documents", "later_ms", "lacking"),
    [(100_000, 0, []), (119_000, 0, []), (121_000, 0, ["decid"]), (80_000, 0, ["decid"]), (100_000, DAY_MS, ["decid"])],
)  # fmt: skip
def test_counts_of_another_day_or_size_are_asked_for_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch, documents: int, later_ms: int, lacking: list[str]
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    counted = statistics.Frequencies("x", 100_000)
    counted.read(counted.missing(["decid"]), [{"found": 14_000}, {"found": 9_000}, {"found": 0}])
    assert counted.counts == {"decid": 23_000}
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + later_ms))
    assert statistics.Frequencies("x", documents).missing(["decid"]) == lacking
