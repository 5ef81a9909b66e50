"""Hot commands import nothing expensive: they start at about the cost of bare Python."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE_S, ROOT, clean_environment

from cli.hot_table import COMMANDS

# The installed script, word for word, and then what was imported after the interpreter's own start.
DRIVER = """
import sys
before = set(sys.modules)
from cli.start import main
code = main()
sys.stdout.flush()
print("\\n".join(sorted(set(sys.modules) - before)), file=sys.stderr)
sys.exit(code)
"""
DEAR = {
    *("typer", "click", "rich", "orjson", "numpy", "typesense", "opentelemetry", "sqlite_vec", "pydantic"),
    *("mcp", "mcp_types", "anyio"),
    *("re", "json", "argparse", "typing", "dataclasses", "tomllib", "pathlib", "subprocess", "uuid", "hashlib"),
    *("datetime", "sqlite3", "functools", "collections", "operator", "contextlib", "enum", "tempfile", "random"),
    "shlex",
    *("socket", "inspect", "logging", "asyncio", "threading", "traceback", "importlib.util", "importlib.metadata"),
    *("cli.declarations", "cli.reference", "cli.terminal", "core.store.store_file"),
}  # fmt: skip

NOTES = [
    "the deploy script needs the staging key before it runs",
    "packages/cli/src/foo.ts holds the retry logic of ECONNREFUSED",
    "we decided to keep SQLite as the embedded store because hooks must not need a server",
]
SAVE = "checkpoint save --message 'port the parser to the new grammar and keep ADR-0203 in mind'"
PROMPT = "sort the tide tables by harbour, please"
EVENT = json.dumps({"action": "from.stdin", "metadata": {"a": [1, "two", None]}})
TURN = json.dumps({"session": "turn", "percent": 45, "messages": ["what was decided about the embedded store"]})

ENTRIES = [{"id": "1", "role": "user", "text": PROMPT, "at": 1}]
OPENCODE = json.dumps({"session_id": "o", "percent": 65, "messages": [PROMPT], "entries": ENTRIES})


def hook(name: str, of: str = "claude", **more: object) -> str:
    """An event of a session that has a real transcript."""
    transcript = ROOT / "tests" / "agents" / "payloads" / of / "session.jsonl"
    event = {"hook_event_name": name, "session_id": of, "transcript_path": str(transcript), "cwd": str(ROOT)}
    return json.dumps({**event, **more})


# A command line, or that and its stdin.
ROWS: dict[str, str | tuple[str, str]] = {
    "recall with hits": "recall 'what was decided about the embedded store'",
    "recall lean as hooks call it": "recall 'deploy script staging' --limit 5 --budget lean --json",
    "recall of an identifier": "recall packages/cli/src/foo.ts --min-score 0.3",
    "recall raw": "recall 'deploy script' --raw",
    "recall deep": "recall 'why is there no server and what follows' --budget deep",
    "recall by category": "recall deploy --category ops",
    "recall without hits": "recall zzz",
    "memory write": "memory write 'the nightly build uses the second runner since March' -c ops -t a,b",
    "memory write of a near duplicate": f"memory write '{NOTES[0]} again'",
    "memory write from stdin": ("memory write -", "the linter is run before every commit of this repository"),
    "otel emit": """otel emit build.ok --source interactive --success true --metadata '{"n": 1}'""",
    "otel emit of a failure": "otel emit build.broke --level error --success false --error 'exit 1'",
    "otel emit from stdin": ("otel emit", EVENT),
    "checkpoint save, cold": f"{SAVE} --session cold --percent 20",
    "checkpoint save, warm": f"{SAVE} --session warm --percent 45",
    "checkpoint save, hot": f"{SAVE} --session hot --tokens 130000 --window 200000 --file a/b.py",
    "checkpoint save, of a known session": f"{SAVE} --session known --percent 30",
    "checkpoint save from stdin": ("checkpoint save --stdin", TURN),
    "checkpoint flush": "checkpoint flush --session known --percent 85",
    "inject recovery": "inject recovery --session known",
    "inject recovery raw": "inject recovery --session known --raw",
    "inject memory": "inject memory --session fresh",
    "inject refresh": "inject refresh --session known --message 'what is happening with the parser and its grammar?'",
    "inject project": f"inject project --session known --file core/clock.py --cwd '{ROOT}'",
    "knowledge search": "knowledge search 'embedded store'",
    "hook, session start": ("hook claude", hook("SessionStart", source="startup")),
    "hook, prompt": ("hook claude", hook("UserPromptSubmit", prompt=PROMPT)),
    "hook, edit": ("hook claude", hook("PostToolUse", tool_name="Write", tool_input={"file_path": "a/b.py"})),
    "hook, end of turn": ("hook claude", hook("Stop")),
    "hook, before the compaction": ("hook claude", hook("PreCompact", trigger="auto")),
    "hook, session end": ("hook claude", hook("SessionEnd", reason="other")),
    "hook, after the compaction": ("hook claude", hook("SessionStart", source="compact")),
    "hook of codex": ("hook codex", hook("UserPromptSubmit", prompt=PROMPT, of="codex")),
    "hook of gemini": ("hook gemini", hook("BeforeAgent", prompt=PROMPT, of="gemini")),
    "hook of pi": ("hook pi turn_end", hook("", of="pi", percent=70, messages=["sort the tide tables"])),
    "hook of opencode": ("hook opencode turn_end", OPENCODE),
    "inject memory of a gateway": "inject memory --session fresh-2 --role gateway",
}
CALLS = {
    name: (shlex.split(row), None) if isinstance(row, str) else (row[0].split(), row[1]) for name, row in ROWS.items()
}
# What a command has need of and the others have not. `array`, for a deep recall alone, imports them itself.
NEEDS = {"recall deep": {"collections", "collections.abc", "operator"}}


SWITCHED_ON = """
[compaction]
idleTriggerMinutes = 5
notifyOnStart = true
[notify]
command = "true"
[model]
command = "true"
"""


def spawn(home: Path, words: list[str], stdin: str | None) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *words],
        cwd=ROOT,
        env=clean_environment(home, HOME=str(home)),
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout, done.stderr


def dear(modules: str) -> set[str]:
    return {name for name in modules.split() if name in DEAR or name.partition(".")[0] in DEAR}


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with memories, events, settings and two sessions."""
    home = tmp_path_factory.mktemp("hot") / "home"
    for note in NOTES:
        assert spawn(home, ["memory", "write", note], None)[0] == 0
    for session in ("known", "other"):
        assert spawn(home, shlex.split(f"{SAVE} --session {session} --percent 65"), None)[0] == 0
    (home / "config.toml").write_text("[recall]\nlimit = 4\n" + SWITCHED_ON)
    spawn(home, ["recall", "deploy"], None)  # reads the TOML once, and keeps it as JSON
    return home


@pytest.mark.parametrize("name", CALLS)
def test_a_hot_command_imports_nothing_expensive(lived_in: Path, name: str) -> None:
    words, stdin = CALLS[name]
    code, out, modules = spawn(lived_in, words, stdin)
    assert code == 0, out + modules
    assert dear(modules) - NEEDS.get(name, set()) == set()


@pytest.mark.parametrize("name", [name for name in CALLS if name.split()[0] in ("recall", "memory", "otel")])
def test_the_first_command_of_a_new_home_imports_nothing_expensive(tmp_path: Path, name: str) -> None:
    words, stdin = CALLS[name]
    code, out, modules = spawn(tmp_path / "home", words, stdin)
    assert code == 0, out + modules
    assert dear(modules) - NEEDS.get(name, set()) == set()


@pytest.mark.parametrize("name", ["hook, end of turn", "hook, before the compaction", "hook, session end"])
def test_features_that_are_off_are_not_imported(lived_in: Path, tmp_path: Path, name: str) -> None:
    parts = {"session.idle", "session.observe_job"}
    assert parts & set(spawn(lived_in, *CALLS[name])[2].split())
    assert not parts & set(spawn(tmp_path / "home", *CALLS[name])[2].split())


def test_a_hook_without_anything_to_archive_leaves_the_store_closed(tmp_path: Path) -> None:
    assert "apsw" in spawn(tmp_path / "home", *CALLS["hook, end of turn"])[2].split()
    command = hook("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    for stdin in (CALLS["hook, prompt"][1], command):
        assert "apsw" not in spawn(tmp_path / "home", ["hook", "claude"], stdin)[2].split()


def test_every_hot_command_is_tested() -> None:
    tried = {" ".join(words[:length]) for words, _ in CALLS.values() for length in (1, 2)}
    assert {"hook", *COMMANDS} <= tried


def test_the_guard_notices_an_import(lived_in: Path) -> None:
    # the help, which only Typer prints
    assert {"typer", "re"} <= dear(spawn(lived_in, ["recall", "--help"], None)[2])
