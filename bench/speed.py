"""Whole-process times of the hot commands as ratios to `python -c pass`, taken in turn in the same run.

    python bench/speed.py [--runs 21] [--sizes 1000,10000,100000] [--json OUT]

Each measurement runs the command and bare Python alternately and quotes the median of each and of their ratios pair by
pair, since the speed of a machine drifts. Peak memory is what the kernel says of the finished process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from notes import QUERIES, notes

PYTHON = sys.executable
JOELCLAW = str(Path(sys.executable).parent / "joelclaw")
# What the issue asks of each command, as a ratio to bare Python.
TARGETS = {
    "recall lean, 1,000 notes": 3.0,
    "recall lean, 10,000 notes": 3.5,
    "recall lean, 100,000 notes": 7.0,
    "memory write, 10,000 notes": 3.5,
    "otel emit": 3.0,
    "checkpoint save, below warm": 3.0,
    "inject recovery": 3.0,
    "recall --project, 10,000 notes": 3.5,
    "recall --session, 10,000 notes": 3.5,
    "recall --project, 100,000 notes": 7.0,
    "recall --session, 100,000 notes": 7.0,
    "memory stats, 100,000 notes": 12.0,
    "memory archive --all, nothing new": 12.0,
}
TRANSCRIPTS = 273
PROJECTS, SESSIONS = 20, 300
MEMORY_TARGET_MB = 60
WARM_UP = 2
# An installed command has its bytecode; without it every process would compile every module.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def once(words: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Run a command to its end: milliseconds, and peak memory in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    took = (time.perf_counter() - began) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return took, usage.ru_maxrss / 1024


def measure(
    name: str,
    commands: Sequence[Sequence[str]],
    environment: dict[str, str],
    runs: int,
    step_ms: int = 0,
    before: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Medians of a command and of bare Python in turn; the commands given are cycled through.

    With `step_ms` each call's clock stands that much later than the one before (past a cooldown, say); `before` is
    called ahead of each.
    """
    own: list[float] = []
    bare: list[float] = []
    peak = 0.0
    now = int(time.time() * 1000)
    for run in range(runs + WARM_UP):
        given = {**environment, "JOELCLAW_NOW_MS": str(now + run * step_ms)} if step_ms else environment
        before()
        took, memory = once(commands[run % len(commands)], given)
        if run >= WARM_UP:  # page cache and .pyc files are there
            own.append(took)
            peak = max(peak, memory)
            bare.append(once([PYTHON, "-c", "pass"], environment)[0])
    return {
        "name": name,
        "runs": runs,
        "ms": round(statistics.median(own), 2),
        "bare_ms": round(statistics.median(bare), 2),
        "ratio": round(statistics.median(ours / theirs for ours, theirs in zip(own, bare, strict=True)), 2),
        "peak_mb": round(peak, 1),
        "target": TARGETS.get(name),
    }


def fill(home: Path, size: int, *, spread: bool = False) -> float:
    """Import `size` notes into a home, with `spread` of many projects and sessions; returns the seconds it took.

    From a file, line by line: a child's peak memory begins at what this process holds when it is started.
    """
    lines = home.with_suffix(".jsonl")
    with lines.open("w", encoding="utf-8") as out:
        for number, text in enumerate(notes(size)):
            line = {"text": text, "verdict": "allow"}
            if spread:
                line |= {"project": f"p{number % PROJECTS}", "session": f"session-{number % SESSIONS}"}
            out.write(json.dumps(line) + "\n")
    began = time.perf_counter()
    words = [JOELCLAW, "memory", "import", str(lines)]
    subprocess.run(words, check=True, capture_output=True, env={**ENVIRONMENT, "JOELCLAW_HOME": str(home)})
    return time.perf_counter() - began


def archive(folder: Path, runs: int) -> list[dict[str, Any]]:
    """`memory archive --all` over transcripts of which none, or one, has something new."""
    lie = folder / ".claude" / "projects" / "-w"
    lie.mkdir(parents=True)
    texts = notes(1_000_000, seed=5)
    said = itertools.count()

    def say(path: Path, lines: int) -> None:
        with path.open("a", encoding="utf-8") as out:
            for number in itertools.islice(said, lines):
                entry = {"type": "user", "uuid": f"u{number}", "sessionId": path.stem, "cwd": "/w"}
                out.write(json.dumps({**entry, "message": {"role": "user", "content": next(texts)}}) + "\n")

    for number in range(TRANSCRIPTS):
        say(lie / f"session-{number}.jsonl", 20)
    later = str(int(time.time() * 1000) + 3_600_000)  # what has just changed would be read once more
    environment = {
        **ENVIRONMENT,
        "HOME": str(folder),
        "JOELCLAW_HOME": str(folder / "memory"),
        "JOELCLAW_NOW_MS": later,
    }
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "GEMINI_CLI_HOME"):
        environment.pop(name, None)
    words = [JOELCLAW, "memory", "archive", "--all"]
    once(words, environment)

    def grow() -> None:
        say(lie / "session-7.jsonl", 10)

    return [
        measure("memory archive --all, nothing new", [words], environment, runs),
        measure("memory archive --all, one has grown", [words], environment, runs, before=grow),
    ]


def main() -> int:
    """Measure all, print the table, and with --json keep it. Exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    imports: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (int(text) for text in options.sizes.split(",")):
            home = Path(folder) / str(size)
            environment = {**ENVIRONMENT, "JOELCLAW_HOME": str(home)}
            imports[f"{size:,}"] = round(fill(home, size, spread=True), 1)
            recalls = [[JOELCLAW, "recall", query, "--budget", "lean"] for query in QUERIES]
            rows.append(measure(f"recall lean, {size:,} notes", recalls, environment, options.runs))
            if size >= 10_000:
                for flag, value in (("--project", "p7"), ("--session", "session-7")):
                    narrow = [[*words, flag, value] for words in recalls]
                    rows.append(measure(f"recall {flag}, {size:,} notes", narrow, environment, options.runs))
                stats = [JOELCLAW, "memory", "stats"]
                rows.append(measure(f"memory stats, {size:,} notes", [stats], environment, options.runs))
            if size != 10_000:
                continue
            fresh = iter(notes(options.runs + 2, seed=99))
            writes = [[JOELCLAW, "memory", "write", next(fresh)] for _ in range(options.runs + 2)]
            rows.append(measure("memory write, 10,000 notes", writes, environment, options.runs))
            emit = [JOELCLAW, "otel", "emit", "bench.tick", "--metadata", '{"n": 1}']
            rows.append(measure("otel emit", [emit], environment, options.runs))
            message = "Make the webhook retry queue drop duplicates"
            save = [JOELCLAW, "checkpoint", "save", "--session", "s", "--message", message, "--percent"]
            rows.append(measure("checkpoint save, below warm", [[*save, "20"]], environment, options.runs))
            once([*save, "70"], environment)
            once([JOELCLAW, "checkpoint", "flush", "--session", "s"], environment)
            recovery = [JOELCLAW, "inject", "recovery", "--session", "s"]
            rows.append(measure("inject recovery", [recovery], environment, options.runs, step_ms=3_600_000))
        rows += archive(Path(folder) / "person", options.runs)
    rows_ok = show(rows, imports)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()}
        options.json.write_text(json.dumps({"machine": machine, "import_s": imports, "rows": rows}, indent=2) + "\n")
    return 0 if rows_ok else 1


def show(rows: list[dict[str, Any]], imports: dict[str, float]) -> bool:
    """The table; whether every target was met."""
    print(f"{'whole process':36}{'ms':>8}{'bare':>8}{'ratio':>7}{'target':>8}{'MB':>7}")
    good = True
    for row in rows:
        met = row["target"] is None or row["ratio"] <= row["target"]
        if row["name"].startswith("recall"):
            met = met and row["peak_mb"] <= MEMORY_TARGET_MB
        good = good and met
        target = f"{row['target']:>8.1f}" if row["target"] else " " * 8
        figures = f"{row['ms']:8.1f}{row['bare_ms']:8.1f}{row['ratio']:7.2f}{target}{row['peak_mb']:7.1f}"
        print(f"{row['name']:36}{figures}{'' if met else '  MISSED'}")
    for size, seconds in imports.items():
        print(f"import of {size} notes: {seconds} s")
    return good


if __name__ == "__main__":
    sys.exit(main())
