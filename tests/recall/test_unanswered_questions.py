"""Query words that occur nowhere in the store lower all scores alike."""

import json

import pytest
from conftest import Run

COUNT = 400


def scores(run: Run, query: str, *more: str) -> dict[str, float]:
    hits = run("recall", query, "--budget", "lean", "--limit", "5", *more).result["hits"]
    return {hit["id"]: hit["score"] for hit in hits}


def test_an_unknown_word_lowers_all_scores_and_changes_no_order(run: Run) -> None:
    notes = [f"The harbour crane number {n} was painted blue in the week {n * 7}" for n in range(COUNT)]
    lines = [
        {"text": text, "verdict": "allow", "collection": "knowledge", "id": f"k{n}"} for n, text in enumerate(notes)
    ]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)))
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


@pytest.mark.parametrize(("query", "count"), [
    ("zzzz", 0), ("xyzzyq zzzz", 0), ("shceduler", 0), ("Lagerhallentor", 1),
    ("zzzz?", 0), ('"xyzzyq zzzz"', 0), ("what is xyzzyq", 0), ("xyzzyq 42", 0), ("Wo ist das Lagerhallentor?", 1),
])  # fmt: skip
def test_a_word_without_a_vector_finds_only_what_begins_like_it(run: Run, query: str, count: int) -> None:
    for text in (
        "We chose Postgres over MySQL because of row level security", "Das Lager der Werft schließt am Freitag",
        "Joe: works at the mill",
    ):  # fmt: skip
        run("memory", "write", text)
    done = run("recall", query, "--exit-code", ok=bool(count))
    assert (done.code, done.result["count"]) == (int(not count), count)


def test_a_hit_far_below_the_best_is_dropped(run: Run) -> None:
    lease, other = "We renew the lease every ten seconds and do not raise it", "The crane is not painted in winter"
    for text in (lease, other):
        run("memory", "write", text)
    assert [hit["observation"] for hit in run("recall", "why not raise the lease").result["hits"]] == [lease]
    assert run("recall", "crane not painted").result["hits"][0]["observation"] == other
