"""Real answers of the commands in docs/contract.md match their JSON Schemas, with all fields and no other."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from claude_transcript import Transcript
from conftest import ROOT, Attempt, Run
from conftest import at_second as at

from core.quoting import escaped

SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text())
    for path in Path(ROOT, "docs/contract").iterdir()
}
MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
EVENT = {
    "action": "build.failed",
    "level": "error",
    "error": "no space",
    "durationMs": 12,
    "metadata": {"a": 1},
    "x": 2,
}


def check(name: str, answer: Attempt) -> dict[str, Any]:
    """The result of an answer that matches the schema of its command."""
    jsonschema.validate(answer.json, SCHEMAS["envelope"])
    assert list(answer.json) == ["ok", "command", "result", "next_actions"]
    assert answer.out == escaped(json.dumps(answer.json, indent=2, ensure_ascii=False)) + "\n"
    faults = jsonschema.Draft202012Validator(SCHEMAS[name]).iter_errors(answer.json["result"])
    assert [f"{'/'.join(map(str, fault.path))}: {fault.message[:200]}" for fault in faults] == []
    result: dict[str, Any] = answer.json["result"]
    for field in (
        {"reason", "recallReason", "writeReason"} & {*result} if "-" in name and name != "memory-write" else ()
    ):
        about = SCHEMAS[name]["properties"][field]["description"]
        assert f"`{result[field]}`" in about or not result[field], "a script can know every reason"
    return result


@pytest.fixture
def filled(run: Run, tmp_path: Path) -> None:
    """A home with memories, a session with a call, and a session that is hot."""
    run("memory", "write", MEMORY, env=at(0))
    run("memory", "write", "src/buoyline/importer.py must never hold a day in memory", env=at(0))
    transcript = Transcript(tmp_path / "work/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    transcript.user("lint the buoyline importer")
    transcript.used("c", "Bash", "0 issues", command="quaylint run buoyline")
    transcript.assistant("The buoyline importer is clean.")
    run("memory", "archive", str(transcript.path), env=at(0))


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("words", [
    ("buoyline importer",),
    ("quaylint",),
    ("why was the buoyline importer changed and how do we read it in batches of rows", "--budget", "deep"),
    ("buoyline", "--category", "ops", "--min-score", "0.9"),
    ("buoyline", "--by", "session", "--everywhere"),
    ("nothing of the kind", "--tag", "unknown"),
])  # fmt: skip
def test_recall(run: Run, words: tuple[str, ...]) -> None:
    check("recall", run("recall", *words, env=at(1)))


@pytest.mark.parametrize("text", [MEMORY, "ok thanks", "[gate=hold conf=.8 category=jc:ops] the quay may be closed"])
def test_memory_write(run: Run, text: str) -> None:
    first = check("memory-write", run("memory", "write", text, env=at(0)))
    again = check("memory-write", run("memory", "write", text, "--global", "--tags", "a,b", env=at(1)))
    assert again["merged"] is (first["verdict"] != "discard") or again["id"] == first["id"]


def test_otel(run: Run) -> None:
    check("otel-emit", run("otel", "emit", "build.ok", env=at(0)))
    ignored = check("otel-emit", run("otel", "emit", stdin=json.dumps(EVENT), env=at(0)))
    assert ignored["ignored"] == ["x"]
    result = check("otel-search", run("otel", "search", "build", env=at(1)))
    assert len(result["events"]) == 2
    check("otel-search", run("otel", "search", "build", "--level", "error", "--page", "2", env=at(1)))


@pytest.mark.usefixtures("filled")
def test_checkpoint(run: Run) -> None:
    words = ("checkpoint", "save", "--session", "s")
    check("checkpoint-save", run(*words, env=at(1)))
    check("checkpoint-save", run(*words, "--stdin", stdin='{"x": 1, "entries": [{"role": "robot"}]}', env=at(1)))
    check("checkpoint-save", run(*words, "--percent", "45", "-m", "fix the buoyline importer", env=at(2)))
    hot = check("checkpoint-save", run(*words, "--percent", "65", "-m", "then the quay", "--file", "a.py", env=at(3)))
    assert hot["written"] and hot["recalled"]
    check("checkpoint-flush", run("checkpoint", "flush", "--session", "s", env=at(4)))
    check("checkpoint-flush", run("checkpoint", "flush", "--session", "unknown", env=at(4)))
    run("inject", "recovery", "--session", "s", env=at(5))
    check("checkpoint-show", run("checkpoint", "show", "s", env=at(6)))
    run("off", "--session", "s", env=at(7))
    check("checkpoint-save", run(*words, "--percent", "70", env=at(8)))


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("name", "words"), [
    ("recovery", ()),
    ("memory", ("--query", "buoyline importer")),
    ("refresh", ("--message", "what about the buoyline importer?", "--role", "gateway")),
    ("project", ("--file", "src/buoyline/importer.py")),
])  # fmt: skip
def test_inject(run: Run, name: str, words: tuple[str, ...]) -> None:
    empty = check(f"inject-{name}", run("inject", name, "--session", "new", *words, env=at(1)))
    save = ("checkpoint", "save", "--session", "s", "--percent", "65", "--message", "fix the buoyline importer")
    run(*save, "--file", "src/buoyline/importer.py", env=at(2))
    first = check(f"inject-{name}", run("inject", name, "--session", "s", *words, env=at(3600)))
    again = check(f"inject-{name}", run("inject", name, "--session", "s", *words, env=at(3601)))
    assert {empty["injected"], first["injected"], again["injected"]} == {True, False}
    run("off", "--session", "s", env=at(3602))
    assert check(f"inject-{name}", run("inject", name, "--session", "s", *words, env=at(3603)))["reason"] == "off"


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_describes_each_field(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert all(field.get("description") for field in SCHEMAS[name]["properties"].values())
