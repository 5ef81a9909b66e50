"""pi, in its three modes: RPC (one process), print (one process a prompt) and interactive (typed into a terminal)."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from typing import Any

from harness import KEY, Child, Run, merge_json, objects, stop

PACKAGE, VERSION, COMMAND = "@earendil-works/pi-coding-agent", "1.6.0", "pi"
NODE = "24.21.0"  # runs pi, which needs a newer Node than CI has
LIMITS = {"contextWindow": 8000, "reserveTokens": 2000, "keepRecentTokens": 300}
READY = b"mock-1"  # in the status line once the screen is drawn
QUIET_S = 1.5  # a turn in a terminal is over once neither screen nor session file has changed for this long


def is_compaction(entry: dict[str, Any]) -> bool:
    return entry.get("type") == "compaction"


def drive(run: Run, prompts: list[str]) -> None:
    """Drive pi in the run's mode."""
    configure(run)
    argv = [run.command, "--provider", "mock", "--model", "mock-1", "--session-dir", run.transcripts]
    for file in run.extensions:
        argv += ["-e", file]
    {"rpc": rpc, "print": print_mode, "interactive": interactive}[run.mode](run, argv, prompts)


def configure(run: Run) -> None:
    """Use the mock as model, and compact early."""
    agent = run.home / ".pi" / "agent"
    model = {
        "id": "mock-1",
        "name": "Mock 1",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": run.limits["contextWindow"],
        "maxTokens": 1000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {
        "baseUrl": run.url + "/v1",
        "api": "openai-completions",
        "apiKey": KEY,
        "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False},
        "models": [model],
    }
    merge_json(agent / "models.json", {"providers": {"mock": provider}}, replace=("providers", "mock"))
    compaction = {key: run.limits[key] for key in ("reserveTokens", "keepRecentTokens")}
    settings = {
        "defaultProvider": "mock",
        "defaultModel": "mock-1",
        "defaultThinkingLevel": "off",
        "enableInstallTelemetry": False,
        "quietStartup": True,
        "lastChangelogVersion": VERSION,
        "compaction": {"enabled": True, **compaction},
        "retry": {"enabled": False},
    }
    merge_json(agent / "settings.json", settings)
    run.set_env(PI_OFFLINE="1", PI_TELEMETRY="0")


def rpc(run: Run, argv: list[Any], prompts: list[str]) -> None:
    """One process; send the next prompt when pi is idle."""
    child = Child(run, [*argv, "--mode", "rpc"], stdin=True)

    def ask(name: str, **fields: Any) -> dict[str, Any] | None:
        child.send({"id": name, **fields})
        return child.until(lambda value: value.get("type") == "response" and value.get("id") == name)

    def is_settled() -> bool:
        """Wait for three idle polls in a row: an extension may start a turn after a compaction."""
        quiet = 0
        while quiet < 3:
            state = ask("state", type="get_state")
            if state is None:
                return False
            busy = state["data"]["isStreaming"] or state["data"]["isCompacting"]
            quiet = 0 if busy else quiet + 1
            time.sleep(0.15)
        return True

    try:
        if is_settled():
            for i, prompt in enumerate(prompts):
                if ask(f"p{i}", type="prompt", message=prompt) is None or not is_settled():
                    break
    finally:
        child.finish(grace=15)


def print_mode(run: Run, argv: list[Any], prompts: list[str]) -> None:
    """A process for each prompt, the later ones with `--continue`."""
    run.each([*argv, "-p"], lambda _session: [*argv, "--continue", "-p"], prompts)


def interactive(run: Run, argv: list[Any], prompts: list[str]) -> None:
    """Type into a terminal like a person; end with ctrl-c twice."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    run.set_env(TERM="xterm-256color")
    process = subprocess.Popen(
        [str(word) for word in argv],
        cwd=run.workdir,
        env=run.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen = open(run.out / "stdout.txt", "ab", buffering=0)
    last = time.monotonic()
    shown = b""

    def read_screen(seconds: float) -> None:
        nonlocal last, shown
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0:
            run.remaining_s()
            if not select.select([ours], [], [], remaining)[0]:
                return
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                time.sleep(remaining)
                return
            screen.write(part)
            shown += part
            last = time.monotonic()

    def is_idle(turns: int) -> bool:
        entries = [entry for file in run.transcripts.glob("*.jsonl") for entry in objects(file)]
        messages = [entry["message"] for entry in entries if entry.get("type") == "message"]
        ended = sum(1 for message in messages if message.get("stopReason") == "stop")
        return ended >= turns and time.monotonic() - last > QUIET_S

    try:
        while READY not in shown and process.poll() is None:  # earlier input would be lost
            read_screen(0.2)
        for turn, prompt in enumerate(prompts, start=1):
            os.write(ours, prompt.encode())
            read_screen(0.3)
            os.write(ours, b"\r")
            while not is_idle(turn) and process.poll() is None:
                read_screen(0.2)
        for _press in range(2):
            with suppress(OSError):
                os.write(ours, b"\x03")
            read_screen(0.1)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        stop(process)
        os.close(ours)
        screen.close()
        run.exit_codes.append(process.returncode)
