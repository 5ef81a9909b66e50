"""No injection contains text of another project, for two repositories with the same words."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW_MS, Run, runner
from test_git_state import git
from test_project_identity import repository

Folders = dict[str, Path | None]
MINUTE = 60_000
WORDS = "harbour gauge importer retries"
ASKED = f"why does the {WORDS} in gauge.py hang, and what was decided"
MARKS = {"alpha": "ALPHASIDE", "beta": "BETASIDE", "nowhere": "NOWHERESIDE"}
EVERYONE = "EVERYSIDE"


def at(minutes: float, **more: str) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + int(minutes * MINUTE)), "JOELCLAW_INJECT_QUERY": WORDS, **more}


def hook(run: Run, name: str, session: str, cwd: Path | None, minutes: float, **more: Any) -> str:
    event = {"hook_event_name": name, "session_id": session, **({"cwd": str(cwd)} if cwd else {}), **more}
    return run("hook", "claude", stdin=json.dumps(event), env=at(minutes), cwd=cwd or Path("/")).out


def worked(run: Run, tmp_path: Path, side: str, folder: Path | None) -> None:
    """A session that said, did and noted the same as that of the other project, with its own mark in every text."""
    mark, session = MARKS[side], f"old-{side}"
    first = 1000 * (1 + list(MARKS).index(side))
    recorded = Transcript(tmp_path / f"{side}.jsonl", first, session, str(folder) if folder else "")
    recorded.user(f"from now on never let the {WORDS} {mark} hang in gauge.py")
    for number in range(6):
        recorded.assistant(f"I decided that the {WORDS} in gauge.py waits {mark}{number} because the office is slow")
        command = f"pytest {mark.lower()}_gauge.py -k {mark.lower()}_{number}"
        error = f"Error: {WORDS} {mark}_failed at gauge.py"
        recorded.used(f"{side}{number}", "Bash", error, failed=True, command=command)
    transcript = {"transcript_path": str(recorded.path)}
    hook(run, "UserPromptSubmit", session, folder, -90, prompt=f"mend the {WORDS} {mark} in gauge.py", **transcript)
    hook(run, "Stop", session, folder, -89, **transcript)
    note = f"[gate=allow] We decided that the {WORDS} of {mark} in gauge.py doubles its delay as the office is slow"
    run("memory", "write", note, "--session", session, env=at(-88), cwd=folder or Path("/"))
    if folder:
        run("memory", "write", f"{note} each time", env=at(-88), cwd=folder)
    save = ("checkpoint", "save", "--session", session, "--percent", "70", "--message", f"the {WORDS} {mark} hangs")
    assert run(*save, "--file", f"{mark}/gauge.py", env=at(-87), cwd=folder or Path("/")).result["written"]
    hook(run, "PreCompact", session, folder, -86, trigger="auto", **transcript)
    emit = ("otel", "emit", f"{mark.lower()}.deploy.failed", "--level", "error", "--error", f"{WORDS} {mark}")
    run(*emit, env=at(-1, JOELCLAW_SESSION_ID=session))
    run("otel", "emit", f"{mark.lower()}.deploy.done", env=at(-1, JOELCLAW_SESSION_ID=session))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folders]:
    """A home with the same of two repositories and of a session of no known folder, and one memory for all."""
    tmp_path = tmp_path_factory.mktemp("lived")
    run = runner(tmp_path / "home", tmp_path)
    alpha = repository(tmp_path / "alpha", "git@github.com:acme/alpha.git")
    git(alpha, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    plain = tmp_path / "plain"
    plain.mkdir()
    folders = {"alpha": alpha, "beta": repository(tmp_path / "beta", "git@github.com:acme/beta.git"), "nowhere": None}
    for side, folder in folders.items():
        worked(run, tmp_path, side, folder)
    note = f"[gate=allow] {EVERYONE}: decided that the {WORDS} in gauge.py must log each try because operators ask"
    assert run("memory", "write", note, "--global", env=at(-80), cwd=alpha).result["project"] == ""
    return tmp_path / "home", {**folders, "worktree": tmp_path / "elsewhere", "plain": plain}


@pytest.fixture
def places(home: Path, lived: tuple[Path, Folders]) -> Folders:
    """The folders of `lived`; the home of the test is a copy."""
    shutil.copytree(lived[0], home)
    return lived[1]


def texts_in(run: Run, tmp_path: Path, where: str, cwd: Path | None) -> dict[str, str]:
    """Every text that a new session gets, by how it came."""
    session = f"new-{where}"
    texts = {"start": hook(run, "SessionStart", session, cwd, 0, source="startup")}
    texts["prompt"] = hook(run, "UserPromptSubmit", session, cwd, 1, prompt=ASKED)
    edited = {"tool_name": "Edit", "tool_input": {"file_path": str((cwd or tmp_path) / "gauge.py")}}
    texts["edit"] = hook(run, "PostToolUse", f"{session}-4", cwd, 2, **edited)
    folder = cwd or Path("/")
    save = ("checkpoint", "save", "--session", session, "--percent", "70", "--message", ASKED)
    run(*save, env=at(3), cwd=folder)
    texts["cached"] = run("checkpoint", "show", session, env=at(3)).out
    texts["refresh"] = hook(run, "UserPromptSubmit", session, cwd, 40, prompt="where do we stand?")
    hook(run, "PreCompact", session, cwd, 41, trigger="auto")
    run("checkpoint", "flush", "--session", session, "--percent", "80", env=at(41), cwd=folder)
    texts["recovery"] = run("inject", "recovery", "--session", session, "--raw", env=at(42), cwd=folder).out
    query = ("inject", "memory", "--session", f"{session}-2", "--query", ASKED, "--raw")
    texts["memory"] = run(*query, env=at(43), cwd=folder).out
    return texts


@pytest.mark.parametrize(
    ("where", "own"), [("alpha", "alpha"), ("beta", "beta"), ("worktree", "alpha"), ("plain", ""), ("nowhere", "")]
)
def test_no_text_crosses_projects(run: Run, tmp_path: Path, places: Folders, where: str, own: str) -> None:
    texts = texts_in(run, tmp_path, where, places[where])
    everything = "\n".join(texts.values())
    for side, mark in MARKS.items():
        if side != own:
            crossed = {name: text for name, text in texts.items() if mark.lower() in text.lower()}
            assert not crossed, side
    assert EVERYONE in everything
    if own:
        for name in ("start", "cached", "memory"):
            assert MARKS[own] in texts[name] or MARKS[own].lower() in texts[name], name


def test_a_gateway_gets_memories_of_all_projects(run: Run, places: Folders) -> None:
    words = ("inject", "memory", "--session", "g", "--role", "gateway", "--query", f"{WORDS} doubles", "--raw")
    text = run(*words, env=at(0), cwd=places["plain"]).out
    assert "ALPHASIDE" in text and "BETASIDE" in text


def test_a_folder_without_a_remote_is_not_the_repository_of_its_name(run: Run, tmp_path: Path, places: Folders) -> None:
    same_name = tmp_path / "other" / "beta"
    (same_name / ".git").mkdir(parents=True)
    text = "\n".join(texts_in(run, tmp_path, "same-name", same_name).values())
    assert EVERYONE in text and "BETASIDE" not in text.upper()
