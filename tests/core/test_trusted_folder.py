"""`joelclaw trust` takes repositories alone and says what it lets in; it holds while path, inode and mark do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import NOW_MS, Run
from terminal import on_terminal, without_style

from core import files
from core.repository import trust

FILE = """
[inject]
query = "tides"
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


def test_what_is_no_repository_is_refused(run: Run, home: Path, tmp_path: Path) -> None:
    for name in ("plain", "somebody", "somebody with .git"):
        folder = tmp_path / name.partition(" ")[0]
        folder.mkdir(exist_ok=True)
        if "with" in name:
            (folder / ".git").mkdir()
        for words, cwd in (((str(folder),), tmp_path), ((), folder)):
            failed = run("trust", *words, cwd=cwd, env={"HOME": str(tmp_path / "somebody")}, ok=False)
            assert (failed.code, failed.json["error"]["code"]) == (1, "TRUST_NO_REPOSITORY")
            assert "git init" in failed.json["fix"]
    assert run("trust", str(tmp_path / "gone"), ok=False).json["error"]["code"] == "TRUST_NO_FOLDER"
    assert not (home / "trusted.json").exists()


def test_what_is_let_in_is_shown(run: Run, home: Path, repo: Path) -> None:
    chosen = run("trust", str(repo)).result["chooses"]
    assert chosen["file"] == str(repo / ".joelclaw/config.toml")
    assert chosen["settings"] == {"inject.query": "tides", "hook.deadline_ms": 900}
    assert (chosen["scopes"], chosen["never"]) == ({"src": "harbour gauge"}, ["model.command"])
    shown = read_on_terminal(home, repo)
    for part in ("hook.deadline_ms 900", "inject.query tides", "src harbour gauge", "stays yours",
                 "never model.command"):  # fmt: skip
        assert part in shown
    assert "curl" not in shown


def test_a_folder_without_a_file_and_one_with_a_bad_one(run: Run, home: Path, repo: Path) -> None:
    (repo / ".joelclaw/config.toml").write_text("[hook]\ndeadline_ms = 1\n")
    assert "hook.deadline_ms" in run("trust", str(repo)).result["chooses"]["fault"]
    assert "fault" in read_on_terminal(home, repo)
    (repo / ".joelclaw/config.toml").unlink()
    assert run("trust", str(repo)).result["chooses"] is None


def read_on_terminal(home: Path, repo: Path) -> str:
    """What a person reads, wherever the lines break: the length of a path says that."""
    return " ".join(without_style(on_terminal(home, "trust", str(repo)).out).split())


def test_status_says_what_comes_from_the_folder(run: Run, repo: Path, tmp_path: Path) -> None:
    env = {"JOELCLAW_HOOK_DEADLINE_MS": ""}  # the tests' own
    assert run("status", cwd=tmp_path, env=env).result["config"]["project"] is None
    about = run("status", cwd=repo, env=env).result["config"]["project"]
    assert about == {
        "file": str(repo / ".joelclaw/config.toml"), "trusted": False, "inForce": {"inject.query": "tides"},
        "scopes": {"src": "harbour gauge"}, "withheld": ["hook.deadline_ms"], "never": ["model.command"], "fault": None,
    }  # fmt: skip
    run("trust", cwd=repo)
    about = run("status", cwd=repo, env=env).result["config"]["project"]
    assert about["trusted"] is True and about["withheld"] == []
    assert about["inForce"] == {"inject.query": "tides", "hook.deadline_ms": 900}
    about = run("status", cwd=repo, env={"JOELCLAW_HOOK_DEADLINE_MS": "800"}).result["config"]["project"]
    assert "hook.deadline_ms" not in about["inForce"], "the environment decides"


def test_status_on_a_terminal(run: Run, home: Path, repo: Path) -> None:

    def shown() -> str:
        return " ".join(without_style(on_terminal(home, "status", cwd=repo).out).split())

    for part in ("trusted no", "in force inject.query tides", "withheld hook.deadline_ms", "never model.command"):
        assert part in shown()
    run("trust", str(repo))
    assert "trusted yes" in shown() and "withheld" not in shown()
    (repo / ".joelclaw/config.toml").write_text("[hook\n")
    assert "fault is not TOML" in shown()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """A repository below a user's home."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path / "somebody"))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    folder = tmp_path / "somebody" / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return Path(os.path.realpath(folder))


def test_a_repository_is_trusted_once_and_until_it_is_revoked(
    clone: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, new = trust.trust(str(clone / "src"))
    mark = (clone / ".git" / "joelclaw-trusted").read_text()
    status = clone.stat()
    assert len(mark) == 32 and new
    assert row == {"path": str(clone), "device": status.st_dev, "inode": status.st_ino, "mark": mark, "at": NOW_MS}
    assert trust.every() == [row] and trust.is_trusted(str(clone)) and not trust.is_trusted(str(clone / "src"))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 1))
    assert trust.trust(str(clone)) == (row, False), "since when it is, not now"
    assert (home / "trusted.json").stat().st_mode & 0o777 == 0o600
    assert trust.revoke(str(clone.parent)) == ""
    assert trust.revoke(str(clone / "src")) == str(clone) and trust.every() == []
    assert trust.revoke(str(clone)) == ""


def test_another_folder_in_its_place_is_not_trusted(clone: Path) -> None:
    row, _ = trust.trust(str(clone))
    mark = clone / ".git" / "joelclaw-trusted"
    for changed in (
        {"device": row["device"] + 1},
        {"inode": row["inode"] + 1},
        {"path": str(clone / "gone")},
        {"mark": "x"},
    ):
        assert not trust.stands({**row, **changed})  # type: ignore[typeddict-item]
    assert trust.stands({**row, "mark": ""}), "it could not be marked"
    mark.write_text("x" * 64)
    assert trust.stands({**row, "mark": "x" * 64}) and not trust.stands(row)
    mark.unlink()
    assert not trust.stands(row) and not trust.is_trusted(str(clone))
    other = clone.parent / "other"
    (other / ".git").mkdir(parents=True)
    trust.trust(str(other))
    again, new = trust.trust(str(clone))
    assert new and [one["path"] for one in trust.every()] == [str(other), str(clone)]
    assert trust.every()[1] == again != row


def test_the_mark_of_a_worktree_lies_where_its_pointer_leads(clone: Path, tmp_path: Path) -> None:
    worktree = clone.parent / "worktree"
    worktree.mkdir()
    own = clone / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {own}\n")
    row, _ = trust.trust(str(worktree))
    assert row["mark"] == (own / "joelclaw-trusted").read_text()
    for name, pointer in (("none", ""), ("away", "gitdir: nowhere\n")):
        folder = clone.parent / name
        folder.mkdir()
        (folder / ".git").write_text(pointer)
        assert trust.trust(str(folder))[0]["mark"] == "" and trust.is_trusted(os.path.realpath(folder))
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (own / "joelclaw-trusted").unlink()
    (own / "joelclaw-trusted").symlink_to(outside)
    assert trust._write_mark(str(worktree)) == "" and outside.read_text() == "kept", "no link is followed"
    assert files.start_of(str(own / "joelclaw-trusted"), 64, links=False) == ""


def test_a_list_that_is_damaged_trusts_nothing(clone: Path, home: Path) -> None:
    home.mkdir()
    whole = {"path": "/a", "device": 1, "inode": 2, "at": 3}
    for rows in ([{"path": "/a", "device": 1, "inode": 2}], [{**whole, "device": "x"}], [7], 7, [], [whole]):
        (home / "trusted.json").write_text(json.dumps({"folders": rows}))
        assert trust.every() == ([{**whole, "mark": ""}] if rows == [whole] else [])
