"""`make demo`: replay a recorded pi session through a compaction, each step a process of its own in a throwaway home.

What an agent's hooks do, in their order: at the end of each turn `checkpoint save` (and the turn's texts are archived
with `memory import`), before the compaction `checkpoint flush`, after it `inject recovery`. Then the note's own
queries are run, and the facts that the summary dropped are looked for in what comes back. The session is a real one of
pi, but its model was scripted, and with it the summary: on sessions of real models `make recovery-bench` measures.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

FOLDER = Path(__file__).resolve().parent
JOELCLAW = str(Path(sys.executable).parent / "joelclaw")
SESSION = "demo"
WRITING_TOOLS = ("edit", "write")
TEXT_CHARS = 600
OUTCOME_CHARS = 200


@dataclass(frozen=True)
class Turn:
    """One user prompt, and what followed until the next."""

    prompt: str
    at_ms: int
    texts: list[tuple[str, str]] = field(default_factory=list)
    saves: list[tuple[float, list[str]]] = field(default_factory=list)


def milliseconds(entry: dict[str, Any]) -> int:
    """The time of a transcript entry."""
    return int(datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00")).timestamp() * 1000)


def turns(entries: list[dict[str, Any]], window: int) -> Iterator[Turn | dict[str, Any]]:
    """The transcript as turns, and its compaction entry where it stands."""
    turn: Turn | None = None
    for entry in entries:
        if entry["type"] == "compaction":
            if turn:
                yield turn
            turn = None
            yield entry
            continue
        message = entry.get("message")
        if message is None:
            continue
        text = " ".join(part["text"] for part in message["content"] if part["type"] == "text")
        if message["role"] == "user":
            if turn:
                yield turn
            turn = Turn(text, milliseconds(entry))
        if turn is None:
            continue
        calls = [part for part in message["content"] if part["type"] == "toolCall"]
        ran = [call["arguments"]["command"] for call in calls if call["name"] == "bash"]
        if message["role"] == "toolResult":  # what came of it goes with the message that called the tool
            role, said = turn.texts[-1]
            turn.texts[-1] = (role, f"{said}\n{text[:OUTCOME_CHARS]}")
            continue
        turn.texts.append((message["role"], "\n".join([text[:TEXT_CHARS], *(f"$ {command}" for command in ran)])))
        if message["role"] == "assistant":
            files = [call["arguments"]["path"] for call in calls if call["name"] in WRITING_TOOLS]
            turn.saves.append((100 * message["usage"]["totalTokens"] / window, files))
    if turn:
        yield turn


class Stage:
    """Where the commands run, and what each has cost."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.costs: dict[str, list[float]] = {}

    def run(self, *words: str, at_ms: int, stdin: str = "") -> str:
        """Spawn `joelclaw` at the recorded time, and return its stdout."""
        environment = {**os.environ, "JOELCLAW_HOME": self.home, "JOELCLAW_NOW_MS": str(at_ms)}
        environment["PATH"] = os.pathsep.join((str(Path(JOELCLAW).parent), environment.get("PATH", os.defpath)))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed command has its bytecode
        began = time.perf_counter()
        done = subprocess.run(
            [JOELCLAW, *words], input=stdin, text=True, capture_output=True, env=environment, check=False
        )
        took = (time.perf_counter() - began) * 1000
        if done.returncode:
            raise SystemExit(f"joelclaw {' '.join(words)}\n{done.stdout}{done.stderr}")
        self.costs.setdefault(" ".join(words[:2]) if words[0] != "recall" else "recall", []).append(took)
        return done.stdout

    def json(self, *words: str, at_ms: int, stdin: str = "") -> Any:
        """The result in the envelope."""
        return json.loads(self.run(*words, at_ms=at_ms, stdin=stdin))["result"]


def archive(stage: Stage, turn: Turn, number: int) -> None:
    """Keep the turn's texts as episodes, each with its prompt and its neighbours as context."""
    lines = []
    for i, (role, text) in enumerate(turn.texts):
        around = [turn.texts[j][1] for j in sorted({0, i - 1, i + 1} - {i}) if 0 <= j < len(turn.texts)]
        line = {"id": f"{SESSION}-{number}-{i}", "collection": "episodes", "text": f"{role}: {text}"}
        lines.append({**line, "context": "\n".join(around), "session": SESSION, "created_at": turn.at_ms})
    stage.run("memory", "import", "-", at_ms=turn.at_ms, stdin="\n".join(map(json.dumps, lines)))


def save(stage: Stage, turn: Turn) -> list[dict[str, Any]]:
    """A checkpoint at the end of each of the model's turns."""
    results = []
    for percent, files in turn.saves:
        words = ["checkpoint", "save", "--session", SESSION, "--percent", f"{percent:.1f}", "--message", turn.prompt]
        for file in files:
            words += ["--file", file]
        results.append(stage.json(*words, at_ms=turn.at_ms))
    return results


def told(results: list[dict[str, Any]]) -> str:
    """What the checkpoints of one prompt did, in a few words."""
    words = []
    for result in results:
        if result["recalled"]:
            words.append(f"recalled {result['hits']}")
        if result["written"]:
            words.append("task remembered")
    if not words:
        words = ["tracked" if results[-1]["zone"] == "cold" else "nothing new to ask"]
    return ", ".join(dict.fromkeys(words))


def bare_python() -> float:
    """Milliseconds of `python -c pass`, median of nine."""
    times = []
    for _ in range(9):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def show_facts(console: Console, facts: list[dict[str, str]], summary: str, note: str, found: str) -> tuple[int, int]:
    """What became of each fact; returns how many came back, and how many of them are in the note itself."""
    table = Table(title="What the session knew before the compaction", title_justify="left", expand=False)
    for heading in ("kind", "fact", "scripted summary", "recovery note", "its queries"):
        table.add_column(heading)
    back = noted = 0
    for fact in facts:
        needle = fact["needle"]
        marks = [needle in text for text in (summary, note, found)]
        back += any(marks[1:])
        noted += marks[1]
        table.add_row(fact["kind"], needle, *("[green]yes[/]" if mark else "[dim]-[/]" for mark in marks))
    console.print(table)
    return back, noted


def show_costs(console: Console, stage: Stage) -> None:
    """What each step cost, as whole processes."""
    bare = bare_python()
    table = Table(title="What each step cost (whole processes)", title_justify="left")
    for heading in ("command", "times", "median ms", "× python -c pass"):
        table.add_column(heading, justify="left" if heading == "command" else "right")
    for command, times in stage.costs.items():
        median = statistics.median(times)
        table.add_row(command, str(len(times)), f"{median:.0f}", f"{median / bare:.1f}")
    table.add_row("python -c pass", "9", f"{bare:.0f}", "1.0")
    console.print(table)


def main() -> int:
    """Replay, and show what was remembered, what the agent got back and what it cost."""
    console = Console(width=min(Console().width, 118))
    scenario = json.loads((FOLDER / "scenario.json").read_text())
    entries = [json.loads(line) for line in (FOLDER / "pi-session.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory(prefix="joelclaw-demo-") as home:
        stage = Stage(home)
        console.rule("[bold]A recorded pi session, replayed through joelclaw")
        track = Table(title="While the context fills", title_justify="left")
        for heading in ("prompt", "context", "zone", "checkpoint save"):
            track.add_column(heading)
        summary, note, after_ms, number = "", "", 0, 0
        for item in turns(entries, scenario["client"]["contextWindow"]):
            if isinstance(item, dict):
                summary, after_ms = item["summary"], milliseconds(item)
                stage.json("checkpoint", "flush", "--session", SESSION, at_ms=after_ms)
                track.add_row("[bold]compaction[/]", f"{item['tokensBefore']} tokens", "", "checkpoint flush")
                note = stage.run("inject", "recovery", "--session", SESSION, "--raw", at_ms=after_ms)
                continue
            if note:
                break
            number += 1
            archive(stage, item, number)
            results = save(stage, item)
            prompt = item.prompt if len(item.prompt) <= 52 else item.prompt[:51] + "…"
            track.add_row(f"{number}. {prompt}", f"{item.saves[-1][0]:.0f} %", results[-1]["zone"], told(results))
        console.print(track)
        kept = "what the summary kept: pi compacted by itself, its model and so this text were scripted"
        console.print(Panel(Text(summary.strip()), title=kept, title_align="left"))
        console.print(
            Panel(Text(note.strip()), title="what the agent gets back", title_align="left", border_style="green")
        )
        queries = re.findall(r'recall "([^"]+)"', note)
        hits = [hit for query in queries for hit in stage.json("recall", query, at_ms=after_ms)["hits"]]
        found = "\n".join(f"{hit['observation']}\n{hit['context']}" for hit in hits)
        back, noted = show_facts(console, scenario["facts"], summary, note, found)
        show_costs(console, stage)
    total = len(scenario["facts"])
    console.print(f"[bold]{back} of {total}[/] facts that the scripted summary dropped came back:")
    console.print(f"{noted} are in the note, the others come from its queries; the recovery note had {len(queries)}.")
    console.print("The summary was scripted to drop them: this shows how the parts work together. It does not show")
    console.print("what a real compaction loses: `make recovery-bench` measures that on your own sessions.")
    return 0 if back else 1


if __name__ == "__main__":
    sys.exit(main())
