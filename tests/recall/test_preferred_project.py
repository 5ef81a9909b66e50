"""`recall` prefers hits of the current project to near equals of others, and says so."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run
from terminal import on_terminal

from recall.query import OTHER_PROJECT

QUERY = "tide gauge reading interval"
LINES = [
    {"id": "alpha", "text": "The tide gauge reading interval is nine minutes or so", "project": "acme/alpha",
     "verdict": "allow"},
    {"id": "beta", "text": "The tide gauge reading interval is ten minutes", "project": "acme/beta",
     "verdict": "allow"},
    {"id": "global", "text": "Whoever changes a tide gauge notes it in the harbour office's book", "verdict": "allow"},
    {"id": "distant", "text": "A tide gauge reading of the lamps of the buoys tells when they are changed",
     "project": "acme/alpha", "verdict": "allow"},
]  # fmt: skip


@pytest.fixture
def alpha(run: Run, tmp_path: Path) -> Path:
    """A repository, and a memory that says the same better in another one."""
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in LINES), env=NOW)
    return repository(tmp_path / "alpha")


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = git@github.com:acme/{folder.name}.git\n')
    return folder


def ask(run: Run, *words: str, cwd: Path) -> Any:
    return run("recall", QUERY, "--budget", "lean", *words, env=NOW, cwd=cwd).result


def scores(result: Any) -> dict[str, float]:
    return {hit["id"]: hit["score"] for hit in result["hits"]}


def test_near_equals_of_another_project_go_behind(run: Run, alpha: Path, tmp_path: Path) -> None:
    everywhere = ask(run, "--everywhere", cwd=alpha)
    assert (everywhere["preferredProject"], everywhere["hits"][0]["id"]) == (None, "beta")
    here = ask(run, cwd=alpha)
    assert (here["preferredProject"], here["hits"][0]["id"]) == ("acme/alpha", "alpha")
    in_beta = ask(run, cwd=repository(tmp_path / "beta"))
    assert (in_beta["preferredProject"], in_beta["hits"][0]["id"]) == ("acme/beta", "beta")
    assert ask(run, cwd=alpha)["hits"][0]["project"] == "acme/alpha", "below the top of it, too"


def test_own_and_global_hits_keep_their_score_and_others_most_of_it(run: Run, alpha: Path) -> None:
    def scores_of(*words: str) -> dict[str, float]:
        # recalls of a batch do not count as use, which would raise the scores
        out = run("recall", "--batch", "-", "--budget", "lean", *words, stdin=QUERY + "\n", env=NOW, cwd=alpha).out
        return scores(json.loads(out)["result"])

    before, after = scores_of("--everywhere"), scores_of()
    assert (after["alpha"], after["global"]) == (before["alpha"], before["global"])
    assert after["beta"] == pytest.approx(before["beta"] * OTHER_PROJECT, abs=0.0002)
    assert 0.5 < OTHER_PROJECT < 1


def test_a_clearly_better_hit_of_another_project_comes_first(run: Run, alpha: Path) -> None:
    hits = ask(run, "--limit", "10", "--everywhere", cwd=alpha)["hits"]
    assert "distant" in [hit["id"] for hit in hits]
    hits = ask(run, "--limit", "10", cwd=alpha)["hits"]
    order = [hit["id"] for hit in hits]
    assert order.index("beta") < order.index("distant")
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_a_folder_outside_repositories_prefers_a_known_project_name(run: Run, alpha: Path, tmp_path: Path) -> None:
    run("memory", "write", "The tide gauge reading interval is eight minutes", "--project", "delta", env=NOW)
    for name, preferred in (("delta", "delta"), ("beta", None), ("elsewhere", None)):
        plain = tmp_path / "plain" / name
        plain.mkdir(parents=True)
        assert ask(run, cwd=plain)["preferredProject"] == preferred
    assert ask(run, cwd=tmp_path / "plain" / "delta")["hits"][0]["project"] == "delta"


def test_a_filter_is_not_changed_by_the_preferred_project(run: Run, alpha: Path) -> None:
    only = ask(run, "--project", "acme/beta", cwd=alpha)
    assert only["preferredProject"] is None
    assert {hit["id"] for hit in only["hits"]} == {"beta", "global"}
    assert ask(run, "--session", "s1", cwd=alpha)["preferredProject"] is None


def test_turns_and_calls_of_a_session_are_of_its_project(run: Run, alpha: Path, tmp_path: Path) -> None:
    repository(tmp_path / "beta")
    for number, name in enumerate(("alpha", "beta")):
        transcript = Transcript(tmp_path / f"s-{name}.jsonl", first=100 * number, cwd=str(tmp_path / name))
        transcript.user("the sluice opens at neap tide because of the barge")
        shown = f"def neapOffset(): return {name}Gate"
        transcript.used(f"c{number}", "Read", shown, file_path="/w/src/sluiceGate.py")
        run("memory", "archive", str(transcript.path), env=NOW)
    for query in ("sluice neap tide barge", "neapOffset"):
        for name in ("alpha", "beta"):
            hits = run("recall", query, env=NOW, cwd=tmp_path / name).result["hits"]
            assert [hit["session"] for hit in hits[:2]] == [f"s-{name}", f"s-{'beta' if name == 'alpha' else 'alpha'}"]
            assert hits[0]["score"] > hits[1]["score"]


def test_a_terminal_names_the_project_and_raw_prints_only_texts(run: Run, alpha: Path, home: Path) -> None:
    raw = run("recall", QUERY, "--raw", env=NOW, cwd=alpha).out.splitlines()
    beta = f"[acme/beta] {LINES[1]['text']}"
    assert raw[0] == LINES[0]["text"] and beta in raw and set(raw) <= {beta, *(line["text"] for line in LINES)}
    everywhere = run("recall", QUERY, "--raw", "--everywhere", env=NOW, cwd=alpha).out.splitlines()
    assert set(everywhere) <= {line["text"] for line in LINES}
    theirs = {**LINES[1], "id": "pump", "text": "The pump of the lock is oiled on Mondays"}
    run("memory", "import", "-", stdin=json.dumps(theirs) + "\n", env=NOW)
    out = on_terminal(home, "recall", "oiled pump of the lock", env={"NO_COLOR": ""}, cwd=alpha).out
    assert "\x1b[31macme/beta" in out
    assert "those of acme" not in on_terminal(home, "recall", QUERY, "--everywhere").out


def test_a_project_is_preferred_without_a_store(run: Run, tmp_path: Path) -> None:
    result = run("recall", QUERY, env=NOW, cwd=repository(tmp_path / "alpha")).result
    assert (result["preferredProject"], result["hits"]) == ("acme/alpha", [])
