"""The calls in `mirrored_calls.txt`, which programs for the mirrored CLI make, return its keys."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import Run, put, runner

CALLS = Path(__file__).with_name("mirrored_calls.txt")
KEYS = {
    "recall": "query rewrittenQuery rewrite filtersApplied includeHold includeDiscard categoryFilter budget"
    " droppedByTrustPass droppedDiagnostics hits count found backend",
    "memory search": "query hits count found backend budget",
    "memory write": "observation category source tags id verdict categorySource",
    "memory recent": "count hours observations",
    "memory scorecard": "hours computedAt metrics overallStatus gatesBreached",
    "sessions search": "query source resolvedRawSource machine local hits",
    "sessions extract": "format extraction",
    "vault read": "ref vault_root resolved resolution",
    "vault search": "query mode",
    "vault ls": "vault_root",
    "vault tree": "vault_root max_depth directories",
    "otel list": "found page limit filterBy events facets",
    "otel search": "query found page limit filterBy events facets",
    "otel stats": "windowHours filterBy total errors errorRate recent15m facets knowledge",
    "otel emit": "endpoint status response event",
    "knowledge search": "query found hits backend",
    "knowledge sync": "collection created indexed",
    "knowledge note": "queued event turnId skipReason response",
    "search": "query collection semantic totalFound hits",
    "note": "id text source createdAt tags status",
    "briefing": "repo heading day_index entries budget ranking interest_decay",
    "status": "healthy problems server worker agent_mail k8s latestAgentDispatchCanary agentDispatchCanary",
}
"""The mirrored keys of an answer's result, by the words of the command."""
OVERVIEWS = {"memory": "commands", "sessions": "commands", "knowledge": "commands", "vault": "vault_root", "otel":
             "subcommands", "vault adr": "subcommands"}  # fmt: skip


def calls() -> dict[str, list[str]]:
    """The calls as they are typed after `joelclaw`, by their first word."""
    by_command: dict[str, list[str]] = {}
    for line in CALLS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            by_command.setdefault(line.split()[0], []).append(line)
    return by_command


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vault, a transcript, and a home that holds something of everything."""
    folder = tmp_path_factory.mktemp("filled")
    for name, text in {
        "Vault/docs/decisions/0168-talon-watchdog.md": "---\nstatus: accepted\n---\n# Talon watchdog\n\nThe lease.\n",
        "Vault/docs/decisions/0189-gateway-guardrails.md": "# Gateway guardrails\n\n- Status: proposed\n",
        "Vault/docs/decisions/0218-quality.md": "# Quality\n\n- Status: shipped\n",
        "Vault/Projects/12-example/index.md": "---\nstatus: active\n---\n# Example\n\nThe content lifecycle.\n",
        "Vault/inbox/thought.md": "a thought\n",
    }.items():
        put(folder / name, text)
    transcript = Transcript(folder / f"{SESSION}.jsonl")
    transcript.user("mend the retry queue, it loses its lease")
    transcript.assistant("I raise the lease of the retry queue")
    run = runner(folder / "home", folder)
    run("knowledge", "sync", str(folder / "Vault"))
    run("memory", "archive", str(transcript.path))
    run("memory", "write", "The retry queue holds a lease of thirty seconds", "-c", "memory")
    run("otel", "emit", "error.queue", "--level", "error")
    return folder


@pytest.fixture
def ask(run: Run, home: Path, filled: Path) -> Any:
    """Asks in a copy of the home; returns what was spawned."""
    env = {"VAULT_PATH": str(filled / "Vault")}
    shutil.copytree(filled / "home", home)
    filling = {"ID": SESSION, "FILE": str(filled / f"{SESSION}.jsonl")}

    def spawn(line: str, *, ok: bool) -> Any:
        return run(*(filling.get(word, word) for word in shlex.split(line)), env=env, ok=ok)

    return spawn


@pytest.mark.parametrize("lines", calls().values(), ids=calls())
def test_a_mirrored_call_is_answered_with_its_keys(ask: Any, lines: list[str]) -> None:
    for line in lines:
        done = ask(line, ok=True)
        words = [word for word in shlex.split(re.sub("^session ", "sessions ", line)) if word[:2] != "--"]
        if "--raw" in line or "--help" in line or "--version" in line:
            assert done.out, line
            continue
        envelope = json.loads(done.out)
        assert envelope["ok"] is True, line
        path = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in {**KEYS, **OVERVIEWS}), "")
        if len(words) == len(path.split()) and path in OVERVIEWS:
            assert {"description", OVERVIEWS[path]} <= set(envelope["result"]), line
        elif path in KEYS:
            assert set(KEYS[path].split()) <= set(envelope["result"]), line
        assert all(action["command"] and action["description"] for action in envelope["next_actions"]), line
