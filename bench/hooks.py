"""What a hook costs: `joelclaw hook claude` for each event, over 10,000 memories and a transcript of 5 MB.

    python bench/hooks.py [--runs 21] [--json OUT]

Each event finds new lines in the transcript, as in a session that goes on. Then one session of 300 turns and 5
compactions: the size of its state file, and whether its hooks are as fast at the end as at the start.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from notes import notes
from speed import ENVIRONMENT, JOELCLAW, PYTHON, WARM_UP, fill, once

from core import files

TARGET = 4.0
MEMORIES = 10_000
TRANSCRIPT_BYTES = 5_000_000
TURNS = 300
COMPACTIONS = 5
STATE_BYTES = 64_000
WINDOW = 200_000
EVENTS = (
    *("SessionStart", "SessionStart after a session"),
    *("UserPromptSubmit", "UserPromptSubmit that names a file", "UserPromptSubmit with a refresh"),
    *("PostToolUse", "PostToolUse of an edit"),
    "PostToolUse of the first edit in a package",
    *("PostToolUse, new task in the warm zone", "PostToolUse, new task in the hot zone"),
    *("Stop", "Stop, new task in the warm zone", "Stop, new task in the hot zone"),
    *("PreCompact", "PreCompact, new task in the hot zone", "PreCompact with a model", "compact"),
    *("SessionEnd", "SessionEnd with a model"),
)
MINUTE_MS = 60_000
DAY_S = 86_400
PROJECT = "/srv/project"
MODEL = "[model]\ncommand = \"echo '<observations></observations>'\"\n"
"""The user's settings, since hooks take no command from the environment."""
"""For events that let it observe the session."""


class Transcript:
    """A transcript of Claude Code that grows."""

    def __init__(self, path: Path, session: str, seed: int) -> None:
        self.path = path
        self.session = session
        self.texts = notes(1_000_000, seed=seed)
        self.count = 0
        self.began = time.time() - DAY_S  # so that a start tells what was left of it

    def add(self, entry: dict[str, Any]) -> None:
        """Append one line."""
        self.count += 1
        line = {
            "uuid": f"{self.session}-{self.count}",
            "sessionId": self.session,
            "cwd": PROJECT,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.began + self.count)),
            **entry,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def turn(self, tokens: int, output: int = 3_000) -> str:
        """A prompt, an answer with a tool call, its output, and a last answer; returns the prompt."""
        prompt = next(self.texts)
        self.add({"type": "user", "message": {"role": "user", "content": prompt}})
        self.work(tokens, output)
        return prompt

    def work(self, tokens: int, output: int = 3_000) -> None:
        """One tool call with what came of it, and an answer."""
        call = f"toolu_{self.count}"
        usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "cache_creation_input_tokens": 0}
        tool = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"make check SEED={self.count}"}}
        content: list[dict[str, Any]] = [{"type": "text", "text": next(self.texts)}, tool]
        self.add({"type": "assistant", "message": {"role": "assistant", "content": content, "usage": usage}})
        result = {"type": "tool_result", "tool_use_id": call, "content": (next(self.texts) + "\n") * (output // 90)}
        self.add({"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": {"stdout": "…"}})
        text = [{"type": "text", "text": next(self.texts)}]
        self.add({"type": "assistant", "message": {"role": "assistant", "content": text, "usage": usage}})

    def stopped(self) -> None:
        """What Claude Code notes of the hooks of a turn that ended: the next prompt finds it there."""
        ran = [{"command": "joelclaw hook claude", "durationMs": 45}]
        self.add({"type": "system", "subtype": "stop_hook_summary", "hookCount": 1, "hookInfos": ran, "hookErrors": []})

    def compacted(self) -> None:
        """A compaction boundary and its summary."""
        about = {"trigger": "auto", "preTokens": 170_000, "postTokens": 30_000}
        self.add({"type": "system", "subtype": "compact_boundary", "compactMetadata": about})
        summary = {"role": "user", "content": "Some files were changed."}
        self.add({"type": "user", "isCompactSummary": True, "message": summary})


def payload(name: str, transcript: Transcript, **more: Any) -> bytes:
    """What Claude Code hands to a hook."""
    event = {"hook_event_name": name, "session_id": transcript.session, "cwd": PROJECT}
    return json.dumps({**event, "transcript_path": str(transcript.path), **more}).encode()


def hook(data: bytes, environment: dict[str, str]) -> float:
    """Run one hook; milliseconds."""
    began = time.perf_counter()
    subprocess.run([JOELCLAW, "hook", "claude"], input=data, stdout=subprocess.DEVNULL, env=environment, check=True)
    return (time.perf_counter() - began) * 1000


def rest(transcript: Transcript, environment: dict[str, str]) -> None:
    """Wait for the background jobs that a hook has started, which would slow down the next measurement."""
    home = Path(environment["JOELCLAW_HOME"])
    waiting = home / "sessions" / ".work" / "observe-waiting" / transcript.session
    while True:
        while files.is_locked(str(home / "cache" / "observe.lock")):
            time.sleep(0.01)
        if not waiting.exists():
            return


def step(event: str, transcript: Transcript, run: int) -> bytes:
    """The session goes on, and the payload of the event that tells it."""
    tokens = (130_000 if "hot" in event else 90_000) + 100 * run
    if event.startswith("SessionStart"):
        session = f"{transcript.session}-start-{run}"
        fresh = Transcript(transcript.path.with_name(f"{session}.jsonl"), session, run)  # no file yet, as in the client
        where = {} if "after" in event else {"cwd": "/srv/begun"}
        return payload("SessionStart", fresh, source="startup", **where)
    if event.startswith("UserPromptSubmit"):
        named = f", see src/part_{run}.py" if "names" in event else ""
        return payload("UserPromptSubmit", transcript, prompt=next(transcript.texts) + named)
    if event.startswith("PreCompact"):
        transcript.turn(tokens)
        return payload("PreCompact", transcript, trigger="auto")
    if event.startswith("SessionEnd"):
        transcript.turn(tokens)
        return payload("SessionEnd", transcript, reason="other")
    if event == "compact":
        transcript.compacted()
        return payload("SessionStart", transcript, source="compact")
    transcript.work(tokens)
    if event.startswith("Stop"):
        return payload("Stop", transcript)
    cwd, path = PROJECT, f"{PROJECT}/src/part_{run}.py"
    if "package" in event:
        package = transcript.path.parent / "packages" / f"part_{run}"
        package.mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"name": f"part-{run}", "description": "the login flow"}))
        cwd, path = str(transcript.path.parent), str(package / "index.js")
    written = {"file_path": path, "content": "x = 1\n"}
    if event.startswith("PostToolUse") and "edit" not in event:
        return payload("PostToolUse", transcript, tool_name="Bash", tool_input={"command": "make check"})
    return payload("PostToolUse", transcript, tool_name="Write", tool_input=written, cwd=cwd)


def measure(event: str, transcript: Transcript, environment: dict[str, str], runs: int) -> dict[str, Any]:
    """Medians of a hook and of bare Python in turn."""
    own: list[float] = []
    bare: list[float] = []
    settings = Path(environment["JOELCLAW_HOME"]) / "config.toml"
    settings.write_text(MODEL if event.endswith("with a model") else "")
    now = int(time.time() * 1000) + EVENTS.index(event) * 100 * 60 * MINUTE_MS
    # A refresh is due after 30 minutes; before a prompt the end of the turn before it has been archived.
    apart = 60 * MINUTE_MS if event.endswith("refresh") else MINUTE_MS // 4
    for run in range(runs + WARM_UP):
        at = {**environment, "JOELCLAW_NOW_MS": str(now + run * apart)}
        if event.startswith("UserPromptSubmit"):
            hook(step("Stop", transcript, run), at)
            transcript.stopped()
            at["JOELCLAW_NOW_MS"] = str(now + (run + 1) * apart - 1)
        if "new task" in event:
            hook(step("UserPromptSubmit", transcript, run), at)
        rest(transcript, environment)
        data = step(event, transcript, run)
        took = hook(data, at)
        rest(transcript, environment)
        if run >= WARM_UP:
            own.append(took)
            bare.append(once([PYTHON, "-c", "pass"], environment)[0])
    ratios = [ours / theirs for ours, theirs in zip(own, bare, strict=True)]
    return {
        "name": f"hook claude {event}",
        "ms": round(statistics.median(own), 2),
        "bare_ms": round(statistics.median(bare), 2),
        "ratio": round(statistics.median(ratios), 2),
        "target": TARGET,
    }


def long_session(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """300 turns, 5 compactions: milliseconds of the hooks up to the first and the last, and the largest state file.

    These two stretches are compared because hooks do more in a full context (they recall for each new task).
    """
    transcript = Transcript(folder / "long.jsonl", "long", 5)
    state = Path(environment["JOELCLAW_HOME"]) / "sessions" / "long.json"
    turns = TURNS // COMPACTIONS
    stretches: list[list[float]] = []
    largest = 0
    now = 1_790_000_000_000

    def run(data: bytes) -> None:
        nonlocal now, largest
        now += 40_000
        stretches[-1].append(hook(data, {**environment, "JOELCLAW_NOW_MS": str(now)}))
        largest = max(largest, state.stat().st_size if state.exists() else 0)

    for compaction in range(COMPACTIONS):
        stretches.append([])
        if not compaction:
            run(payload("SessionStart", transcript, source="startup"))
        for turn in range(turns):
            run(payload("UserPromptSubmit", transcript, prompt=next(transcript.texts)))
            transcript.turn(20_000 + 150_000 * turn // turns)
            edited = {"file_path": f"/srv/project/a_{compaction * turns + turn}.py"}
            run(payload("PostToolUse", transcript, tool_name="Edit", tool_input=edited))
            run(payload("Stop", transcript))
            transcript.stopped()
        run(payload("PreCompact", transcript, trigger="auto"))
        transcript.compacted()
        run(payload("SessionStart", transcript, source="compact"))
    medians = [round(statistics.median(took), 1) for took in stretches]
    return {
        "hooks": sum(map(len, stretches)), "first_ms": medians[0], "last_ms": medians[-1],
        "largest_state_bytes": largest,
    }  # fmt: skip


def main() -> int:
    """Measure all and print it; exit 1 when a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--events", default=";".join(EVENTS), help="separated by semicolons")
    parser.add_argument("--no-long-session", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # a background job may still write
        folder = Path(name)
        environment = {**ENVIRONMENT, "JOELCLAW_HOME": str(folder / "home")}
        fill(folder / "home", MEMORIES)
        transcript = Transcript(folder / "session.jsonl", "bench", 3)
        while not transcript.path.exists() or transcript.path.stat().st_size < TRANSCRIPT_BYTES:
            transcript.turn(80_000)
        began = time.perf_counter()
        subprocess.run(
            [JOELCLAW, "memory", "archive", str(transcript.path), "--agent", "claude"],
            env=environment, check=True, capture_output=True,
        )  # fmt: skip
        archived = time.perf_counter() - began
        rows = [measure(event, transcript, environment, options.runs) for event in options.events.split(";")]
        good = True
        print(f"{'whole process':52}{'ms':>8}{'bare':>8}{'ratio':>7}{'target':>8}")
        for row in rows:
            met = row["ratio"] <= TARGET
            good = good and met
            figures = f"{row['ms']:8.1f}{row['bare_ms']:8.1f}{row['ratio']:7.2f}{TARGET:8.1f}"
            print(f"{row['name']:52}{figures}{'' if met else '  MISSED'}")
        print(f"archive of {transcript.path.stat().st_size / 1e6:.1f} MB: {archived:.1f} s")
        long: dict[str, Any] = {}
        if not options.no_long_session:
            long = long_session(folder, environment)
            met = long["largest_state_bytes"] < STATE_BYTES and long["last_ms"] < 1.25 * long["first_ms"]
            good = good and met
            print(f"{TURNS} turns, {COMPACTIONS} compactions: {long}{'' if met else '  MISSED'}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"rows": rows, "long_session": long}, indent=2) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
