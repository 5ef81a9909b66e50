"""Which project a folder belongs to, and that recall returns memories of that project or of none."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run, at_ms
from test_git_state import git

from core import project

LATER = at_ms(60_000)
QUERY = "retry policy of the importer"


def repository(folder: Path, origin: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    if origin:
        git(folder, "remote", "add", "upstream", "https://example.org/somebody/else.git")
        git(folder, "remote", "add", "origin", origin)
    return folder


@pytest.mark.parametrize(("origin", "name"), [
    ("https://github.com/Acme/Gateway.git", "acme/gateway"),
    ("https://GitHub.com./acme/gateway.git", "acme/gateway"),
    ("https://user:token@github.com/acme/gateway", "acme/gateway"),
    ("git@github.com:acme/gateway.git", "acme/gateway"),
    ("ssh://git@ssh.github.com:443/acme/gateway.git", "acme/gateway"),
    ("git@github-at-work:acme/gateway.git", "acme/gateway"),
    ("http://localhost:3000/acme/gateway", "localhost/acme/gateway"),
    ("ssh://git@example.org:2222/acme/gateway.git/", "example.org/acme/gateway"),
    ("https://gitlab.example.org/group/part/gateway.git", "gitlab.example.org/group/part/gateway"),
    ("/srv/git/gateway.git", "gateway"),
    ("../gateway", "gateway"),
    ("file:///srv/git/gateway.git", "gateway"),
])  # fmt: skip
def test_the_remote_names_the_project(tmp_path: Path, origin: str, name: str) -> None:
    folder = repository(tmp_path / "somewhere", origin)
    (folder / "src").mkdir()
    assert project.name_of(str(folder / "src")) == name
    assert project.folder_of(str(folder / "src")) == str(folder)


@pytest.mark.parametrize("origin", ["", "git@example.org:acme/gateway.git"])
def test_worktrees_are_the_project_of_their_repository(tmp_path: Path, origin: str) -> None:
    folder = repository(tmp_path / "gateway", origin)
    git(folder, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "fix"))
    tree = str(tmp_path / "elsewhere" / "fix")
    assert (
        project.name_of(tree) == project.name_of(str(folder)) == ("example.org/acme/gateway" if origin else "gateway")
    )
    assert project.folder_of(tree) == tree
    shutil.rmtree(folder)
    assert project.name_of(tree) == "gateway", "the repository is gone: what names it is left"


def test_a_bare_repository_with_worktrees_is_one(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    for bare in ("gateway.git", "gateway/.bare"):
        git(tmp_path, "clone", "-q", "--bare", str(source), bare)
        git(tmp_path / bare, "remote", "remove", "origin")
        tree = tmp_path / f"tree-of-{bare.replace('/', '-')}"
        git(tmp_path / bare, "worktree", "add", "-q", str(tree), "-b", "b")
        assert project.name_of(str(tree)) == "gateway"


def test_a_submodule_belongs_to_the_repository_around_it(run: Run, tmp_path: Path) -> None:
    part = repository(tmp_path / "part")
    outer = repository(tmp_path / "outer", "https://github.com/acme/outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "lib/part")
    inner = outer / "lib" / "part"
    git(inner, "remote", "set-url", "origin", "https://elsewhere.example/acme/orders.git")
    assert project.name_of(str(inner)) == "acme/outer" and project.folder_of(str(inner)) == str(outer)
    memory = "The settlement batch of orders is retried by hand"
    run("memory", "import", "-", stdin=json.dumps({"text": memory, "project": "acme/orders"}) + "\n", env=NOW)
    command = ("inject", "memory", "--query", "settlement batch of orders", "--session")
    assert memory not in run(*command, "s1", cwd=inner, env=NOW).out


def test_memories_stored_under_names_without_host_are_found(run: Run, home: Path, tmp_path: Path) -> None:
    folder = repository(tmp_path / "sluice", "https://git.example.org/acme/sluice.git")

    def archive(name: str, cwd: Path, first: int) -> None:
        transcript = Transcript(tmp_path / f"{name}.jsonl", first=first, cwd=str(cwd))
        transcript.user("The weir opens at ebb tide")
        run("memory", "archive", str(transcript.path), env=NOW)

    archive("s-1", folder, 0)
    run("memory", "write", "The weir gate is painted green", "--project", "git.example.org/acme/sluice", env=NOW)
    with sqlite3.connect(home / "store.db") as db:
        for table in ("session", "document", "folder"):
            db.execute(f"UPDATE {table} SET project = 'acme/sluice'")
    elsewhere = repository(tmp_path / "copy", "https://elsewhere.example/acme/sluice.git")
    for where, expected in ((elsewhere, False), (folder, True)):
        for number in (2, 3):
            archive(f"{where.name}-{number}", where, number + 10 * expected)
        hits = run("recall", "weir gate painted", "--project", project.name_of(str(where)), env=NOW).result["hits"]
        assert ("green" in json.dumps(hits)) is expected


def test_projects_switched_off_under_names_without_host_stay_off(run: Run, home: Path, tmp_path: Path) -> None:
    folder = repository(tmp_path / "sluice", "https://git.example.org/acme/sluice.git")
    assert run("off", "--project", cwd=folder, env=NOW).result["name"] == "git.example.org/acme/sluice"
    file = home / "switches.json"
    file.write_text(file.read_text().replace("git.example.org/", ""))
    assert run("on", "--project", cwd=folder, env=LATER).result["changed"]
    assert not run("on", "--project", cwd=folder, env=LATER).result["changed"]


def recalled(run: Run, *words: str) -> set[str]:
    return {hit["id"] for hit in run("recall", QUERY, *words, env=NOW).result["hits"]}


def test_recall_is_narrowed_to_a_project_and_global_memories(run: Run) -> None:
    lines = [
        {"id": "own", "text": f"Own: the {QUERY} is to wait twice as long each time", "project": "acme/gateway"},
        {"id": "plain", "text": f"Plain: the {QUERY} was a fixed delay of two seconds", "project": "gateway"},
        {"id": "foreign", "text": f"Foreign: the {QUERY} gives up after a day", "project": "acme/proxy"},
        {"id": "global", "text": f"Global: never hide the {QUERY} from the operators"},
        {"id": "lost", "text": f"Lost: the {QUERY} of nobody knows where", "session": "unknown"},
    ]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)) + "\n", env=NOW)
    everything = {"own", "plain", "foreign", "global", "lost"}
    assert recalled(run) == recalled(run, "--everywhere") == everything
    assert recalled(run, "--project", "acme/gateway") == {"own", "global", "lost"}
    assert recalled(run, "--project", "gateway") == {"plain", "global", "lost"}
    assert recalled(run, "--project", "acme/proxy") == {"foreign", "global", "lost"}
    assert recalled(run, "--project", "proxy") == {"foreign", "global", "lost"}, "short for the only such name"
    assert recalled(run, "--project", "none/such") == {"global", "lost"}
    assert recalled(run, "--everywhere", "--project", "acme/proxy") == {"foreign", "global", "lost"}
