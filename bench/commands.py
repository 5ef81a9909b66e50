"""Every command as a whole process, in CPU time as a ratio to `python -c pass`, in a home that holds a little of all.

    python bench/commands.py [--runs 11] [--json OUT] [WORDS...]

Each is called alternately with bare Python; quoted is the median of the ratios pair by pair. CPU time of the process
and its children, since a busy machine's wall clock says little. Exit 1 where one that does no long work takes more than
`MOST` times bare Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cli.declarations import every_command, first_words, group_help

PYTHON = sys.executable
JOELCLAW = str(Path(sys.executable).parent / "joelclaw")
MOST = 12.0
WARM_UP = 2
TRANSCRIPT = str(Path(__file__).resolve().parent.parent / "tests/agents/payloads/pi/session.jsonl")
SESSION = "00000000-0000-7000-8000-000000000001"
LONG = {
    "doctor": "calls the hooks of each client",
    "compaction decide": "reads a whole session file",
    "compaction prepare": "reads a whole session file",
    "compaction serialize": "reads a whole session file",
    "compaction summarize": "reads a whole session file and sums it up",
    "compaction branch": "reads a whole session file",
    "knowledge sync": "reads folders of markdown",
    "idle run": "waits for timers and starts agents",
    "mcp": "starts the official mcp package and serves until it is told to end",
    "memory import": "parses and stores a file of memories",
    "memory observe": "starts a model",
    "otel export": "sends through the OpenTelemetry SDK",
    **{f"store {verb}": "asks a cluster through the official typesense client" for verb in
       ("init", "sync", "push", "pull", "verify")},
}  # fmt: skip
"""Commands that do long work, and what."""
WORDS = {
    "recall": "recall 'retry queue'",
    "search": "search 'retry queue'",
    "lost": f"lost {SESSION}",
    "sessions search": "sessions search queue",
    "sessions extract": f"sessions extract {SESSION} --query queue",
    "memory write": "memory write 'the retry queue holds a lease of thirty seconds'",
    "memory search": "memory search 'retry queue'",
    "memory show": "memory show nothing",
    "memory forget": "memory forget nothing",
    "memory import": "memory import /dev/null",
    "memory archive": f"memory archive {TRANSCRIPT}",
    "memory observe": f"memory observe --session {SESSION}",
    "note": "note 'a thought on the retry queue'",
    "knowledge search": "knowledge search queue",
    "knowledge note": "knowledge note --source s --agent a --session s --turn 1 --summary 'the queue was mended'",
    "vault read": "vault read nothing",
    "vault search": "vault search queue",
    "vault adr": "vault adr list",
    "otel emit": "otel emit bench.tick",
    "otel search": "otel search tick",
    "otel export": "otel export --status",
    "checkpoint save": "checkpoint save --session s --message 'mend the queue' --percent 20",
    "checkpoint flush": "checkpoint flush --session s",
    "checkpoint show": "checkpoint show s",
    **{f"inject {name}": f"inject {name} --session s" for name in ("recovery", "memory")},
    "inject refresh": "inject refresh --session s --message 'what of the queue'",
    "inject project": "inject project --session s --file a/b.py",
    **{f"compaction {verb}": f"compaction {verb} {TRANSCRIPT}" for verb in
       ("decide", "prepare", "serialize", "summarize", "branch")},
    **{f"idle {verb}": f"idle {verb} --session s" for verb in ("schedule", "cancel")},
    "idle run": "idle run --once",
    "hook": "hook claude Stop",
    "exclude": "exclude --list",
    "install": "install --list",
    "uninstall": "uninstall claude --dry-run",
    "completion": "completion bash",
}  # fmt: skip
"""How a command is called where its name alone does not do."""
GROUPS = [word for word in first_words() if group_help(word)]
BESIDE = ["--version", "", "--help", "memory wirte", "recall a b", "recall --nope", "runs", *GROUPS,
          *(f"{group} --help" for group in GROUPS), "recall --help"]  # fmt: skip
"""Calls of no command: versions, overviews, help, mistakes."""


def cpu(words: list[str], environment: dict[str, str]) -> float:
    """The CPU time in ms that a process and its children took."""
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (usage.ru_utime + usage.ru_stime) * 1000


def ratio(words: list[str], environment: dict[str, str], runs: int) -> tuple[float, float]:
    """The median ratio to bare Python, and the median ms."""
    own, ratios = [], []
    for run in range(runs + WARM_UP):
        took, bare = cpu([JOELCLAW, *words], environment), cpu([PYTHON, "-c", "pass"], environment)
        if run >= WARM_UP:
            own.append(took)
            ratios.append(took / max(bare, 0.001))
    return statistics.median(ratios), statistics.median(own)


def main() -> int:
    """Measure, print the table, and with --json keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", type=Path)
    parser.add_argument("only", nargs="*", help="only commands whose words begin so")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"HOME": folder, "JOELCLAW_HOME": f"{folder}/home", "VAULT_PATH": f"{folder}/Vault"}
        (Path(folder) / "Vault" / "docs" / "decisions").mkdir(parents=True)
        (Path(folder) / "Vault" / "docs" / "decisions" / "0001-queue.md").write_text("# Queue\n\nA lease.\n")
        for line in (WORDS["memory archive"], WORDS["memory write"], f"knowledge sync {folder}/Vault"):
            subprocess.run([JOELCLAW, *shlex.split(line)], env=environment, capture_output=True, check=True)
        for line, path in [
            *((line, "") for line in BESIDE),
            *((WORDS.get(c.path, c.path), c.path) for c in every_command().values()),
        ]:
            if options.only and not line.startswith(tuple(options.only)):
                continue
            times, took = ratio(shlex.split(line), environment, options.runs)
            missed = times > MOST and path not in LONG
            rows.append({"call": line, "ratio": round(times, 2), "ms": round(took, 1), "long": LONG.get(path)})
            print(
                f"{times:6.2f} {took:8.1f} ms  {line[:70]:70} {'MISSED' if missed else LONG.get(path, '')}", flush=True
            )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"most": MOST, "rows": rows}, indent=2) + "\n")
    return 1 if any(row["ratio"] > MOST and not row["long"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
