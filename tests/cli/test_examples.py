"""The examples in docs/examples/ work as they are, and so does `make demo`."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT, clean_environment, put
from faults import patient

EXAMPLES = Path(ROOT, "docs/examples")
MEMORY = "src/importer.py: the importer of the tides retries 3 times, since the upstream drops idle connections"


class Shell:
    """Runs examples in a home with a memory; `joelclaw` is in PATH."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.folder = folder
        path = f"{Path(JOELCLAW).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = clean_environment(home, PATH=path, HOME=str(folder))
        self.run(JOELCLAW, "memory", "write", MEMORY)

    def run(self, *words: str, stdin: str = "", code: int = 0) -> str:
        done = subprocess.run(
            words, input=stdin, capture_output=True, text=True, env=self.environment, cwd=self.folder, check=False
        )
        assert (done.returncode, done.stderr) == (code, ""), done.stderr
        return done.stdout

    def example(self, name: str, *words: str, stdin: str = "", code: int = 0) -> str:
        interpreter = {".py": ["python3"], ".mjs": ["node"]}.get(Path(name).suffix, [])
        return self.run(*interpreter, str(EXAMPLES / name), *words, stdin=stdin, code=code)


@pytest.fixture
def shell(home: Path, tmp_path: Path) -> Shell:
    return Shell(home, tmp_path)


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program} here")


def test_before_a_prompt(shell: Shell) -> None:
    assert "retries 3 times" in shell.example("before-prompt.sh", stdin="why does the importer retry?")
    assert shell.example("before-prompt.sh", stdin="--help") == ""
    assert shell.example("before-prompt.sh", stdin="") == ""


@needs("jq")
def test_the_end_of_a_turn_and_a_compaction(shell: Shell) -> None:
    printed = shell.example(
        "turn-end.sh", "s", "65", "src/a b.py", "src/c.py", stdin="mend the retries of the importer"
    )
    assert printed == "hot: 1 memories, task new-task\n"
    shell.example("compaction.sh", "before", "s")
    note = shell.example("compaction.sh", "after", "s")
    assert "**Task:** mend the retries of the importer" in note and "src/a b.py" in note
    assert "usage" in subprocess.run([EXAMPLES / "compaction.sh"], capture_output=True, text=True, check=False).stderr


@needs("jq")
def test_a_commit_is_an_event(shell: Shell) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(shell.folder))
    shell.run(*git, "init", "-q")
    shutil.copy(EXAMPLES / "post-commit.sh", shell.folder / ".git/hooks/post-commit")
    shell.run(*git, "commit", "-q", "--allow-empty", "-m", 'Say "tides" once')
    assert 'Say \\"tides\\" once' in shell.run(JOELCLAW, "otel", "search", "git.commit")


@needs("jq")
def test_errors_raise_an_alert(shell: Shell) -> None:
    assert shell.example("alert.sh") == ""
    shell.run(JOELCLAW, "otel", "emit", "build.failed", "--level", "error", "--error", "no space")
    assert shell.example("alert.sh", code=1).endswith("build.failed: no space\n")


def test_a_script_remembers(shell: Shell) -> None:
    assert re.match(r"allow: \S+ \(jc:operations\)\n", shell.example("remember.py", "The quay is closed on Mondays"))
    done = subprocess.run(
        ["python3", EXAMPLES / "remember.py", " "], capture_output=True, text=True, env=shell.environment, check=False
    )
    assert done.returncode == 1 and done.stderr.startswith("EMPTY_TEXT: ")


def test_an_agent_survives_its_compactions(shell: Shell) -> None:
    prompts = [
        f"mend retry number {number} of the importer, and say what you have changed " + "x" * 150
        for number in range(12)
    ]
    notes = shell.example("agent.py", stdin="\n".join(prompts))
    assert notes.count("## Session Recovery") >= 1
    assert "mend retry number" in notes


@needs("node")
def test_a_hook_in_node(shell: Shell) -> None:
    stdin = '{"session": "s", "file": "src/importer.py"}'
    assert "retries 3 times" in shell.example("hook.mjs", stdin=stdin)


def test_a_backup_every_night(shell: Shell) -> None:
    line = next(line for line in (EXAMPLES / "joelclaw-backup.service").read_text().splitlines() if "ExecStart" in line)
    words = re.fullmatch(r"ExecStart=/bin/sh -c '(.*)'", line)
    assert words
    shell.run("/bin/sh", "-c", words[1].replace("$$", "$").replace("%%", "%"))  # as systemd unquotes them
    assert (shell.folder / f"joelclaw-{date.today():%F}.tar.gz").exists()
    if shutil.which("systemd-analyze"):
        shell.run("systemd-analyze", "calendar", "*-*-* 03:00")


@needs("make")
def test_a_failed_build_is_an_event(shell: Shell) -> None:
    error = "error: no tide table for harbour 7"
    transcript = Transcript(shell.folder / "5a3e7c11-2222-4333-8444-555566667777.jsonl")
    transcript.user("build it")
    for number, (command, output) in enumerate(
        (("./build.sh", error), ("./tables.sh 7", "ok"), ("./build.sh", "done"))
    ):
        transcript.used(f"c{number}", "Bash", output, failed=output == error, command=command)
    shell.run(JOELCLAW, "memory", "archive", str(transcript.path))
    put(shell.folder / "build.sh", f"#!/bin/sh\necho '{error}' >&2\nexit 1\n", 0o755)
    shutil.copy(EXAMPLES / "Makefile", shell.folder)
    done = subprocess.run(
        ["make", "build"], capture_output=True, text=True, env=shell.environment, cwd=shell.folder, check=False
    )
    assert done.returncode != 0 and error in done.stdout
    assert "./tables.sh 7" in shell.run("make", "why")
    assert "no tide table" in shell.run(JOELCLAW, "otel", "search", "build.failed", "--level", "error")


@needs("jq")
@needs("sqlite3")
def test_the_memories_of_other_tools(shell: Shell) -> None:
    mem0 = {"id": 7, "memory": "the harbour master likes tea at noon", "created_at": "2026-01-01T00:00:00Z"}
    (shell.folder / "mem0.json").write_text(json.dumps({"results": [mem0]}))
    entity = {"type": "entity", "name": "Ann", "observations": ["reads the tide gauge every morning"]}
    relation = {"type": "relation", "from": "Ann", "relationType": "maintains", "to": "the lighthouse of Norderney"}
    (shell.folder / "memory.jsonl").write_text(f"{json.dumps(entity)}\n{json.dumps(relation)}\n")
    with closing(sqlite3.connect(shell.folder / "claude-mem.db")) as db, db:
        db.execute("CREATE TABLE observations (facts, project, created_at_epoch)")
        db.execute("INSERT INTO observations VALUES (?, 'quay', 1767225600000)", ['["the lease lasts 30 seconds"]'])
    added = [
        json.loads(shell.example("import-memories.sh", tool, file))["result"]["added"]
        for tool, file in (("mem0", "mem0.json"), ("mcp", "memory.jsonl"), ("claude-mem", "claude-mem.db"))
    ]
    assert added == [1, 2, 1]
    kept = json.loads(shell.run(JOELCLAW, "memory", "list"))["result"]["memories"]
    assert {row["observation"] for row in kept} == {
        MEMORY, mem0["memory"], "Ann: reads the tide gauge every morning",
        "Ann maintains the lighthouse of Norderney", "the lease lasts 30 seconds",
    }  # fmt: skip


def test_each_is_in_the_list() -> None:
    listed = set(re.findall(r"\]\(([\w.-]+)\)", (EXAMPLES / "README.md").read_text()))
    assert listed | {"joelclaw-backup.service", "README.md"} == {path.name for path in EXAMPLES.iterdir()}


def test_the_demo_shows_the_recovery_note_and_the_facts(tmp_path: Path) -> None:
    home = tmp_path / "untouched"
    done = subprocess.run(
        [sys.executable, str(ROOT / "demo" / "replay.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=clean_environment(home, COLUMNS="118", TERM="dumb", PATH="/usr/bin:/bin", **patient(home)),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "## Session Recovery" in done.stdout
    assert "**Where:**" in done.stdout
    assert "its model was scripted" in done.stdout
    back = re.search(r"(\d+) of 20 facts", done.stdout)
    assert int(back[1]) >= 16  # as README.md says
    assert "not what a real compaction loses" in " ".join(done.stdout.split())
    assert not home.exists()
