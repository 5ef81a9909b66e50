"""Query words that occur nowhere in the store lower all scores alike."""

import json

import pytest
from conftest import Run

COUNT = 400


@pytest.fixture
def filled(run: Run) -> None:
    notes = [f"The harbour crane number {n} was painted blue in the week {n * 7}" for n in range(COUNT)]
    lines = [
        {"text": text, "verdict": "allow", "collection": "knowledge", "id": f"k{n}"} for n, text in enumerate(notes)
    ]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)))


def scores(run: Run, query: str, *more: str) -> dict[str, float]:
    hits = run("recall", query, "--budget", "lean", "--limit", "5", *more).result["hits"]
    return {hit["id"]: hit["score"] for hit in hits}


@pytest.mark.usefixtures("filled")
def test_an_unknown_word_lowers_all_scores_and_changes_no_order(run: Run) -> None:
    known = scores(run, "crane number 17 blue painted")
    foreign = scores(run, "crane number 17 zabaglione quince cinnamon")
    assert next(iter(known)) == next(iter(foreign)) == "k17"
    assert known["k17"] >= 0.5 > 0.3 > foreign["k17"] > 0


@pytest.mark.parametrize(("query", "among", "count"), [("xyzzy plugh", 400, 0), ("automobile", 4, 1)])
def test_nonsense_finds_nothing_where_there_is_much(run: Run, query: str, among: int, count: int) -> None:
    texts = [
        "lol I guess this is go idiomatic then", "the car is red", *(f"note {n} of the port" for n in range(among)),
    ]  # fmt: skip
    lines = [json.dumps({"text": text, "collection": "knowledge"}) for text in texts]
    run("memory", "import", "-", stdin="\n".join(lines))
    assert run("recall", query).result["found"] == count


def test_a_hit_far_below_the_best_is_dropped(run: Run) -> None:
    lease, other = "We renew the lease every ten seconds and do not raise it", "The crane is not painted in winter"
    for text in (lease, other):
        run("memory", "write", text)
    assert [hit["observation"] for hit in run("recall", "why not raise the lease").result["hits"]] == [lease]
    assert run("recall", "crane not painted").result["hits"][0]["observation"] == other
