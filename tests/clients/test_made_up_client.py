"""A new client needs only a module and its name."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, clean_environment, put

import clients

ROOMS = ("cli", "clients", "core", "memory", "otel", "recall", "session")
MODULE = """
from clients.base import Client
from clients.entries import Entry, usage_entries, with_node


class Quill(Client):
    name = "quill"
    title = "Quill Code"
    home_variable = "QUILL_HOME"
    home_folder = ".quill"
    settings_file = "quill.json"
    hook_timeout = 7
    transcripts = ("scrolls/*.jsonl",)
    events = {"Opened": "start", "Asked": "prompt", "Shrinks": "before_compaction", "Closed": "end"}
    session_file = "scroll"
    said_marks = (b\'"says"\',)
    context_marks = (b\'"used"\', b\'"shrunk"\')
    window = 50_000

    def wrote(self, line):
        return "quill" in line

    def entries(self, line):
        found = []
        if "shrunk" in line:
            found = [Entry("compaction")]
        elif "says" in line:
            said = Entry("prompt" if line["by"] == "user" else "answer", line["quill"])
            said.text = said.content = line["says"]
            found = [said, *usage_entries(line, ("used",))]
        found = with_node(found, line.get("quill"))
        found[0].session, found[0].folder = line.get("scroll", ""), line.get("cwd", "")
        return found
"""
SCROLL = [
    {"quill": 1, "scroll": "q-1", "cwd": "/w/harbour"},
    {"quill": 2, "by": "user", "says": "sort the tide tables by harbour"},
    {"quill": 3, "by": "assistant", "says": "The tide tables lie in three files; I sort them.", "used": 20_000},
]
# Modules outside `clients/` that name one all the same, and the words around the name.
EXCEPTIONS = {
    "cli/commands/compaction.py": " of pi",  # the rules of a compaction are pi's
    "core/redaction/tokens.py": " pi ",  # Stripe's payment intents begin so
    "core/redaction/values.py": "qwen",  # the name of a model
    "core/command.py": "claude -p",  # an example of a command that the user may set
}

Quill = Callable[..., Any]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`joelclaw` of a copy of the packages to which the client was added."""
    folder = tmp_path_factory.mktemp("copy")
    for room in (*ROOMS, "completions"):
        shutil.copytree(ROOT / room, folder / room)  # with what is compiled: times of files are kept
    at = folder / "clients" / "__init__.py"
    text = at.read_text()
    assert '"opencode": ' in text
    at.write_text(text.replace('"opencode": ', '"quill": "Quill", "opencode": '))
    (folder / "clients" / "quill.py").write_text(MODULE)
    script = folder / "joelclaw"
    code = f"import sys\nsys.path[0] = {str(folder)!r}\nfrom cli.start import start\nstart()\n"
    script.write_text(f"#!{sys.executable}\n{code}")
    script.chmod(0o700)
    return script


@pytest.fixture
def quill(command: Path, home: Path, tmp_path: Path) -> Quill:
    """Run that command; gives its result, or what it printed."""

    folder = tmp_path / "project"
    folder.mkdir()

    def run(*words: str, stdin: Any = None, plain: bool = False) -> Any:
        data = b"" if stdin is None else json.dumps(stdin).encode()
        environment = clean_environment(home, HOME=str(tmp_path))
        done = subprocess.run([command, *words], input=data, capture_output=True, env=environment, cwd=folder)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.decode() if plain else json.loads(done.stdout)["result"]

    return run


@pytest.fixture
def scroll(tmp_path: Path) -> Path:
    return put(tmp_path / ".quill" / "scrolls" / "one.jsonl", "".join(json.dumps(line) + "\n" for line in SCROLL))


def episodes(quill: Quill) -> list[tuple[str, str]]:
    lines = quill("memory", "export", "--collection", "episodes", plain=True).splitlines()
    return [(episode["source"], episode["text"]) for episode in map(json.loads, lines)]


def test_its_hooks_transcript_and_context_usage_work(quill: Quill, scroll: Path) -> None:
    def hook(name: str, **more: str) -> str:
        payload = {"hook_event_name": name, "session_id": "q-1", "transcript_path": str(scroll), "cwd": "/w/harbour"}
        return quill("hook", "quill", stdin={**payload, **more}, plain=True)

    assert hook("Asked", prompt="sort the tide tables by harbour") == ""
    shown = quill("checkpoint", "show", "q-1")
    assert (shown["agent"], shown["contextTokens"], shown["contextLimit"]) == ("quill", 20_000, 50_000)
    assert hook("Shrinks") == ""
    answer = json.loads(hook("Opened", source="compact"))["hookSpecificOutput"]
    assert answer["hookEventName"] == "Opened"
    assert "tide tables" in answer["additionalContext"]
    sources = episodes(quill)
    assert {source for source, _ in sources} == {"quill"}
    assert any("three files" in text for _, text in sources)


def test_its_session_files_are_found_and_read(quill: Quill, scroll: Path) -> None:
    assert quill("memory", "archive", "--all")["agents"] == {"quill": 1}
    assert quill("memory", "archive", "--agent", "quill", str(scroll))["unchanged"] == 1
    assert len(episodes(quill)) == 2


def test_it_is_installed_in_its_settings_folder(quill: Quill, tmp_path: Path, command: Path) -> None:
    (agent,) = quill("install", "quill")["agents"]
    assert agent["path"] == str(tmp_path / ".quill" / "quill.json")
    assert agent["notes"][0] == "takes effect the next time Quill Code starts"
    entries = json.loads(Path(agent["path"]).read_text())["hooks"]
    assert list(entries) == ["Opened", "Asked", "Shrinks", "Closed"]
    (entry,) = entries["Asked"][0]["hooks"]
    assert f"{command} hook quill" in entry["command"] and entry["timeout"] == 7
    listed = quill("install", "--list")["installs"]
    installed = {row["scope"]: row["installed"] for row in listed if row["agent"] == "quill"}
    assert installed == {"user": True, "project": False}
    quill("uninstall", "quill")
    assert not Path(agent["path"]).exists()


def test_the_doctor_calls_its_hooks(quill: Quill) -> None:
    quill("install", "quill")
    result = quill("doctor", "--client", "quill")
    assert [finding["code"] for finding in result["findings"] if finding["subject"] == "quill"] == ["HOOK_NEVER_CALLED"]
    assert result["clients"]["quill"]["current"] is True


def strings(path: Path) -> Iterator[str]:
    """The strings in a module, less its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in remarks:
            yield node.value


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "clients"])
def test_no_module_elsewhere_names_a_client(room: str) -> None:
    names = {re.escape(word) for client in clients.with_hooks() for word in (client.name, client.title)}
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(names))})(?![\w-])", re.IGNORECASE)
    for path in sorted((ROOT / room).rglob("*.py")):
        if path.relative_to(ROOT).as_posix() == "session/install/client_settings.py":
            continue  # what differs between the clients' own settings
        if not pattern.search(path.read_text(encoding="utf-8")):
            continue
        allowed = EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), "")
        for text in strings(path):
            assert not pattern.search(text.replace(allowed, "") if allowed else text), f"{path}: {text[:80]}"
