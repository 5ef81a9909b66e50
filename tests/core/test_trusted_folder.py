"""`joelclaw trust` takes repositories alone and says what it lets in; `status` what comes from a folder's file."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from terminal import on_terminal, without_style

FILE = """
[inject]
min_score = 0.5
[hook]
deadline_ms = 900
[model]
command = "curl x | sh"
[scopes]
src = "harbour gauge"
[unheard]
of = 1
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    (root / ".git").mkdir(parents=True)
    (root / ".joelclaw").mkdir()
    (root / ".joelclaw/config.toml").write_text(FILE)
    return root


@pytest.mark.parametrize("where", ["/", "a folder", "the home", "the home with .git"])
def test_what_is_no_repository_is_refused(run: Run, home: Path, tmp_path: Path, where: str) -> None:
    folder = {"/": Path("/"), "a folder": tmp_path / "plain"}.get(where, tmp_path / "somebody")
    folder.mkdir(exist_ok=True)
    if "with" in where:
        (folder / ".git").mkdir()
    for words, cwd in (((str(folder),), tmp_path), ((), folder)):
        env = {"HOME": str(tmp_path / "somebody")}
        failed = run("trust", *words, cwd=cwd, env=env, ok=False)
        assert (failed.code, failed.json["error"]["code"]) == (1, "TRUST_NO_REPOSITORY")
        assert "git init" in failed.json["fix"]
    assert not (home / "trusted.json").exists()


def test_what_is_let_in_is_shown(run: Run, home: Path, repo: Path) -> None:
    chosen = run("trust", str(repo)).result["chooses"]
    assert chosen["file"] == str(repo / ".joelclaw/config.toml")
    assert chosen["settings"] == {"inject.min_score": 0.5, "hook.deadline_ms": 900}
    assert (chosen["scopes"], chosen["never"]) == ({"src": "harbour gauge"}, ["model.command"])
    shown = read_on_terminal(home, repo)
    for part in ("hook.deadline_ms 900", "inject.min_score 0.5", "scopes.src harbour gauge", "stays yours",
                 "Not let in, though the file says it: model.command"):  # fmt: skip
        assert part in shown
    assert "curl" not in shown


def test_a_folder_without_a_file_and_one_with_a_bad_one(run: Run, home: Path, repo: Path) -> None:
    (repo / ".joelclaw/config.toml").write_text("[hook]\ndeadline_ms = 1\n")
    assert "hook.deadline_ms" in run("trust", str(repo)).result["chooses"]["fault"]
    assert "is left out" in read_on_terminal(home, repo)
    (repo / ".joelclaw/config.toml").unlink()
    assert run("trust", str(repo)).result["chooses"] is None
    assert "no .joelclaw/config.toml" in read_on_terminal(home, repo)


def read_on_terminal(home: Path, repo: Path) -> str:
    """What a person reads, wherever the lines break: the length of a path says that."""
    return " ".join(without_style(on_terminal(home, "trust", str(repo)).out).split())


def test_status_says_what_comes_from_the_folder(run: Run, repo: Path, tmp_path: Path) -> None:
    env = {"JOELCLAW_HOOK_DEADLINE_MS": ""}  # the tests' own
    assert run("status", cwd=tmp_path, env=env).result["config"]["project"] is None
    about = run("status", cwd=repo, env=env).result["config"]["project"]
    assert about == {
        "file": str(repo / ".joelclaw/config.toml"), "trusted": False, "inForce": {"inject.min_score": 0.5},
        "scopes": {"src": "harbour gauge"}, "withheld": ["hook.deadline_ms"], "never": ["model.command"], "fault": None,
    }  # fmt: skip
    run("trust", cwd=repo)
    about = run("status", cwd=repo, env=env).result["config"]["project"]
    assert about["trusted"] is True and about["withheld"] == []
    assert about["inForce"] == {"inject.min_score": 0.5, "hook.deadline_ms": 900}
    about = run("status", cwd=repo, env={"JOELCLAW_HOOK_DEADLINE_MS": "800"}).result["config"]["project"]
    assert "hook.deadline_ms" not in about["inForce"], "the environment decides"


def test_status_on_a_terminal(run: Run, home: Path, repo: Path) -> None:

    def shown() -> str:
        return " ".join(without_style(on_terminal(home, "status", cwd=repo).out).split())

    assert "(not trusted)" in shown()
    assert "inject.min_score = 0.5; scopes.src (for this project's own memories alone)" in shown()
    assert "withheld hook.deadline_ms (until joelclaw trust)" in shown()
    assert "never from there model.command" in shown()
    run("trust", str(repo))
    assert "(trusted)" in shown() and "withheld" not in shown()
    (repo / ".joelclaw/config.toml").write_text("[hook\n")
    assert "left out it is no TOML" in shown()
