"""`make demo`: replay a recorded pi session through a compaction, each hook a process of its own in a throwaway home.

The session file grows line by line beside the project's files, and the hooks that `joelclaw install pi` adds run in
their order: `prompt`, `turn_end`, `before_compaction`, `after_compaction`. Then each fact that the summary dropped is
asked for in plain words. The session is a real one of pi, but its model was scripted, and with it the summary: on
sessions of real models `make recovery-bench` measures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
RECORDED_FOLDER = "/home/dev/buoyline"


def milliseconds(entry: dict[str, Any]) -> int:
    """The time of a transcript entry."""
    return int(datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00")).timestamp() * 1000)


@dataclass
class Stage:
    """A throwaway home with the project and its session file, where commands run."""

    home: Path

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.home / "buoyline"

    @property
    def transcript(self) -> Path:
        """The client's session file."""
        return self.home / "session.jsonl"

    def run(self, *words: str, at_ms: int, stdin: str = "") -> str:
        """Spawn `joelclaw` in the project at the recorded time, and return its stdout."""
        environment = {**os.environ, "JOELCLAW_HOME": str(self.home / "joelclaw"), "JOELCLAW_NOW_MS": str(at_ms)}
        environment["PATH"] = os.pathsep.join((str(Path(JOELCLAW).parent), environment.get("PATH", os.defpath)))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed command has its bytecode
        done = subprocess.run(
            [JOELCLAW, *words], input=stdin, text=True, capture_output=True, env=environment, cwd=self.project,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"joelclaw {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """Write one of the project's files."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@dataclass
class Session:
    """The session as pi's extension sees it."""

    stage: Stage
    window: int
    identity: str = ""
    prompts: list[str] = field(default_factory=list)
    percent: float = 0

    def hook(self, event: str, at_ms: int, **more: object) -> str:
        """Report an event as the extension does, and return the text that it hands to the model."""
        payload = {
            "session_id": self.identity, "transcript_path": str(self.stage.transcript), "cwd": str(self.stage.project),
            "messages": self.prompts[-12:], "percent": self.percent, **more,
        }  # fmt: skip
        answer = json.loads(self.stage.run("hook", "pi", event, at_ms=at_ms, stdin=json.dumps(payload)))
        return "\n".join(message["content"] for message in answer["messages"])

    def record(self, entry: dict[str, Any]) -> None:
        """Append what pi recorded to its session file."""
        with self.stage.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def answer(self, message: dict[str, Any], at_ms: int) -> None:
        """What the model answered: its edits are made, and its turn ends."""
        for call in (part for part in message["content"] if part["type"] == "toolCall"):
            given = call["arguments"]
            if call["name"] == "write":
                self.stage.write(given["path"], given["content"])
            elif call["name"] == "edit":
                text = (self.stage.project / given["path"]).read_text()
                for edit in given["edits"]:
                    text = text.replace(edit["oldText"], edit["newText"])
                self.stage.write(given["path"], text)
        self.percent = 100 * message["usage"]["totalTokens"] / self.window
        self.hook("turn_end", at_ms)


def text_of(message: dict[str, Any]) -> str:
    """What was said in a message."""
    return " ".join(part["text"] for part in message["content"] if part["type"] == "text")


def cut(text: str) -> str:
    """The beginning of a prompt, for a row of its own."""
    return text if len(text) <= 56 else text[:55] + "…"


def replay(session: Session, entries: list[dict[str, Any]], track: Table) -> tuple[str, str, int]:
    """Up to the compaction: returns the client's summary, the recovery note, and when it was."""
    for entry in entries:
        at_ms, message = milliseconds(entry), entry.get("message")
        if entry["type"] == "compaction":
            session.hook("before_compaction", at_ms)
            session.record(entry)
            track.add_row(cut(session.prompts[-1]), f"{session.percent:.0f} %")
            track.add_row("[bold]compaction[/]", f"{entry['tokensBefore']} tokens")
            return entry["summary"], session.hook("after_compaction", at_ms), at_ms
        if entry["type"] == "session":
            session.identity = entry["id"]
            session.record(entry)
            session.hook("session_start", at_ms, source="startup")
            continue
        if message and message["role"] == "user":
            if session.prompts:
                track.add_row(cut(session.prompts[-1]), f"{session.percent:.0f} %")
            session.hook("prompt", at_ms, prompt=text_of(message))
            session.prompts.append(text_of(message))
        session.record(entry)
        if message and message["role"] == "assistant":
            session.answer(message, at_ms)
    raise SystemExit("the recorded session has no compaction")


def show_facts(console: Console, stage: Stage, facts: list[dict[str, str]], note: str, at_ms: int) -> int:
    """Ask for each fact in plain words, show what came back; returns how many did."""
    table = Table(title="What the session knew, and the summary dropped", title_justify="left", expand=False)
    for heading in ("asked for", "fact", "recovery note", "recall"):
        table.add_column(heading)
    back = 0
    for fact in facts:
        marks = [fact["needle"] in text for text in (note, stage.run("recall", fact["ask"], "--raw", at_ms=at_ms))]
        back += any(marks)
        table.add_row(fact["ask"], fact["needle"], *("[green]yes[/]" if mark else "[dim]-[/]" for mark in marks))
    console.print(table)
    return back


def main() -> int:
    """Replay, and show what the agent got back, and what can be found again."""
    console = Console(width=min(Console().width, 118))
    scenario = json.loads((FOLDER / "scenario.json").read_text())
    with tempfile.TemporaryDirectory(prefix="joelclaw-demo-") as home:
        stage = Stage(Path(home))
        for path, text in scenario["files"].items():
            stage.write(path, text)
        recorded = (FOLDER / "pi-session.jsonl").read_text().replace(RECORDED_FOLDER, str(stage.project))
        console.rule("[bold]A recorded pi session, replayed through joelclaw's hooks")
        track = Table(title="While the context fills", title_justify="left")
        track.add_column("prompt")
        track.add_column("context", justify="right")
        session = Session(stage, scenario["client"]["contextWindow"])
        summary, note, after_ms = replay(session, [json.loads(line) for line in recorded.splitlines()], track)
        console.print(track)
        kept, got = "what pi's summary kept (its model was scripted)", "what joelclaw hands the agent"
        console.print(Panel(Text(summary.strip()), title=kept, title_align="left"))
        console.print(Panel(Text(note.strip()), title=got, title_align="left", border_style="green"))
        back = show_facts(console, stage, scenario["facts"], note, after_ms)
    total = len(scenario["facts"])
    console.print(f"[bold]{back} of {total}[/] facts that the scripted summary dropped were found again.")
    console.print(
        "The questions are ours, and the summary was scripted: this shows how the parts work together, not what a real "
        "compaction loses. `make recovery-bench` measures that on your own sessions."
    )
    return 0 if back else 1


if __name__ == "__main__":
    sys.exit(main())
