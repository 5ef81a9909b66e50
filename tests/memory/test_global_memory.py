"""Under which project `memory write` files, and what is written for every project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import NOW_MS, Run

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
NOTE = "[gate=allow] We decided that every harbour gauge logs its tries because the operators ask for them"
TEXT = NOTE.partition("] ")[2]


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Two repositories, a folder below one, and a folder in none."""
    for name in ("alpha", "beta"):
        (tmp_path / name / ".git").mkdir(parents=True)
        origin = f'[remote "origin"]\n\turl = https://example.org/acme/{name}\n'
        (tmp_path / name / ".git" / "config").write_text(origin)
    for folder in ("alpha/src", "plain"):
        (tmp_path / folder).mkdir()
    return {name: tmp_path / name for name in ("alpha", "beta", "alpha/src", "plain")}


def write(run: Run, *words: str, cwd: Path | None = None, text: str = NOTE) -> Any:
    return run("memory", "write", text, *words, env=NOW, cwd=cwd).result


@pytest.mark.parametrize(("where", "project"), [("alpha", "acme/alpha"), ("alpha/src", "acme/alpha"), ("plain", "")])
def test_the_repository_of_the_folder(run: Run, places: dict[str, Path], where: str, project: str) -> None:
    written = write(run, cwd=places[where])
    assert (written["project"], written["isGlobal"]) == (project, not project)
    assert run("memory", "show", written["id"], env=NOW).result["project"] == project


def test_the_sessions_project_goes_before_the_folders(run: Run, places: dict[str, Path], tmp_path: Path) -> None:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("look at the harbour gauge")
    run("memory", "archive", str(made.path), env=NOW)
    assert write(run, "--session", SESSION, cwd=places["alpha"])["project"] == "gateway"
    assert write(run, "--session", "unknown", cwd=places["alpha"])["project"] == "acme/alpha"
    assert write(run, "--project", "given", cwd=places["alpha"])["project"] == "given"
    lost = write(run, "--session", "nobody", cwd=places["plain"], text=f"{NOTE} at night")
    assert (lost["project"], lost["isGlobal"]) == ("", False)


def test_global_is_seen_in_every_project(run: Run, places: dict[str, Path]) -> None:
    written = write(run, "--global", "--session", "s1", cwd=places["alpha"])
    assert (written["project"], written["session"], written["isGlobal"]) == ("", "", True)
    for name in ("alpha", "beta", "plain"):
        words = ("inject", "memory", "--session", name, "--query", "harbour gauge logs tries", "--raw")
        assert TEXT in run(*words, env=NOW, cwd=places[name]).out
    found = run("recall", TEXT, "--project", "acme/beta", env=NOW).result["hits"]
    assert [hit["id"] for hit in found] == [written["id"]]


def test_global_and_a_project_exclude_each_other(run: Run, home: Path) -> None:
    failed = run("memory", "write", NOTE, "--global", "--project", "alpha", ok=False, env=NOW)
    assert (failed.code, failed.json["error"]["code"]) == (2, "MEMORY_INVALID_ARGS")
    assert failed.json["fix"] and not (home / "store.db").exists()


def test_a_project_that_says_the_same_leaves_it_global(run: Run, places: dict[str, Path]) -> None:
    first = write(run, "--global", cwd=places["alpha"])
    again = write(run, "--session", "s1", cwd=places["beta"])
    assert (again["mergedInto"], again["project"], again["session"]) == (first["id"], "", "")


def test_a_projects_own_words_do_not_get_into_what_is_global(run: Run, places: dict[str, Path]) -> None:
    """Near duplicates, not equal."""
    long = "the harbour gauge importer waits and doubles its delay with each try until the office has answered it again"
    first = write(run, "--global", cwd=places["alpha"], text=long)
    near = write(run, cwd=places["beta"], text=long + " kindly")
    assert near["merged"] is False and near["project"] == "acme/beta"
    assert write(run, cwd=places["beta"], text=long + " gently")["mergedInto"] == near["id"] != first["id"]
    assert write(run, "--global", text=long + " softly")["mergedInto"] == first["id"]
