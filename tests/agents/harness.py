"""Runs a real client against the mock model."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mock_llm

KEY = "dummy-key-not-real"
SESSION_KEYS = ("thread_id", "sessionID", "session_id")  # names of the session's id in the clients' JSON output
SECOND_LOOK = "Critically evaluate"  # Gemini's second request for a summary, which checks the first answer
REPOSITORY = Path(__file__).resolve().parents[2]


def client_folder(name: str) -> Path:
    clients = os.environ.get("JOELCLAW_E2E_CLIENTS")
    return (Path(clients) if clients else REPOSITORY / ".e2e") / name


def installed_version(name: str) -> str | None:
    from real_clients import CLIENTS

    package = client_folder(name) / "node_modules" / CLIENTS[name].PACKAGE / "package.json"
    return str(json.loads(package.read_text(encoding="utf-8"))["version"]) if package.exists() else None


def node_folder(name: str) -> str:
    """The folder of the Node that runs a client: installed with the client if it needs a newer one, else ours."""
    own = client_folder(name) / "node_modules" / "node" / "bin" / "node"
    return os.path.dirname(own if own.exists() else shutil.which("node") or "/usr/bin/node")


class OutOfTime(Exception):
    """The run's deadline has passed."""


def merge(old: Any, new: Any) -> Any:
    """Merge objects, extend lists, replace anything else."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: merge(old[key], value) if key in old else value for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return old + [value for value in new if value not in old]
    return new


def merge_json(path: Path, new: dict[str, Any], replace: tuple[str, ...] = ()) -> None:
    """Merge an object into a JSON file, after removing the value at the key path `replace`."""
    text = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    old: dict[str, Any] = json.loads(text or "{}")
    at = old
    for key in replace[:-1]:
        at = at.get(key, {})
    if replace:
        at.pop(replace[-1], None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(merge(old, new), indent=2) + "\n", encoding="utf-8")


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL file, without other lines."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value


def inside(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a value, including itself."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from inside(part)


class Child:
    """A client process in its own process group; stdout goes to OUT/stdout.txt and, line by line, to a queue."""

    def __init__(self, run: Run, argv: list[Any], *, stdin: bool = False):
        self.run = run
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.err = open(run.out / "stderr.txt", "ab")
        self.process = subprocess.Popen(
            [str(word) for word in argv],
            cwd=run.workdir,
            env=run.env,
            stdout=subprocess.PIPE,
            stderr=self.err,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout, open(self.run.out / "stdout.txt", "ab") as file:
            for line in stdout:
                file.write(line)
                file.flush()
                self.lines.put(line.decode("utf-8", "replace"))
        self.lines.put(None)

    def send(self, value: dict[str, Any]) -> None:
        """Write a line of JSON to its stdin, if the process still runs."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write((json.dumps(value) + "\n").encode())
            self.process.stdin.flush()

    def until(self, test: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """Wait for an object on stdout that passes the test; None if stdout ends first."""
        while True:
            try:
                line = self.lines.get(timeout=self.run.remaining_s())
            except queue.Empty:
                raise OutOfTime from None
            if line is None:
                self.lines.put(None)
                return None
            with suppress(ValueError):
                value = json.loads(line)
                if isinstance(value, dict) and test(value):
                    return value

    def finish(self, grace: float | None = None) -> None:
        """Wait until it exits, or end it after `grace` seconds; keep the exit code."""
        with suppress(BrokenPipeError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            if sys.exc_info()[0]:  # the run failed: do not wait
                return
            self.process.wait(min(self.run.remaining_s(), grace or 1e9))
        except subprocess.TimeoutExpired:
            if not grace:
                raise OutOfTime from None
        finally:
            stop(self.process)
            self.err.close()
            self.run.exit_codes.append(self.process.returncode)


def stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
    process.wait()


@dataclass(frozen=True)
class Outcome:
    """What happened in a run."""

    exit_codes: list[int]
    timed_out: bool
    compactions: int
    requests: list[dict[str, Any]]
    """Requests to the model, as logged by mock_llm.py."""
    steps_unused: int


class Run:
    """A client that works through a script: its folders, environment, deadline and mock model.

    Args:
        folder: holds `home`, `project` and `bin` (first on PATH); gets OUT with transcripts/, requests.jsonl,
            stdout.txt and stderr.txt.
        mode: how pi is driven (real_clients/pi.py).
        extensions: files for pi's `-e`.
        timeout: seconds for the whole run.
    """

    def __init__(
        self, name: str, script: dict[str, Any], folder: Path, *, out: str = "out", mode: str = "rpc",
        extensions: Sequence[Path] = (), env: Mapping[str, str] | None = None, timeout: float = 900,
    ) -> None:  # fmt: skip
        from real_clients import CLIENTS

        self.name, self.client, self.script, self.mode, self.extensions = name, CLIENTS[name], script, mode, extensions
        self.began = time.monotonic()
        self.deadline = self.began + timeout
        self.home, self.workdir, self.out = folder / "home", folder / "project", folder / out
        self.exit_codes: list[int] = []
        self.limits: dict[str, Any] = {**self.client.LIMITS, **script.get("client", {})}
        self.command = client_folder(name) / "node_modules" / ".bin" / self.client.COMMAND
        assert self.command.exists(), f"{name} is not installed; run: make e2e AGENT={name}"
        self.transcripts = self.out / "transcripts"
        self.transcripts.mkdir(parents=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="agent-"))
        self.mock = mock_llm.serve(script, self.out / "requests.jsonl", 0, str(self.workdir))
        self.url = f"http://127.0.0.1:{self.mock.server_port}"
        threading.Thread(target=self.mock.serve_forever, daemon=True).start()
        self.given_env = dict(env or {})
        self.env = self._environment(str(folder / "bin"))

    def play(self) -> Outcome:
        """Send the script's prompts one after the other in one session."""
        timed_out = False
        try:
            self.client.drive(self, self.script["prompts"])
        except (OutOfTime, subprocess.TimeoutExpired):
            timed_out = True
        finally:
            self.mock.shutdown()
            self.mock.server_close()
            shutil.rmtree(self.scratch, ignore_errors=True)
        requests = [request for request in objects(self.out / "requests.jsonl") if "n" in request]
        steps = sum(request["step"] is not None for request in requests)
        unused = max(0, len(self.script.get("steps", [])) - steps)
        return Outcome(self.exit_codes, timed_out, self._compactions(requests), requests, unused)

    def _compactions(self, requests: list[dict[str, Any]]) -> int:
        """Compactions in the client's transcripts; Gemini records none, so its requests for a summary count."""
        if self.name == "gemini":
            summaries = [request for request in requests if request["rule"] == "compact"]
            return sum(SECOND_LOOK not in json.dumps(summary["body"].get("contents", [])[-1:]) for summary in summaries)
        count = 0
        for file in sorted(self.transcripts.iterdir()):
            values = objects(file) if file.suffix == ".jsonl" else inside(json.loads(file.read_text(encoding="utf-8")))
            count += sum(self.client.is_compaction(value) for value in values)
        return count

    def _environment(self, first: str) -> dict[str, str]:
        """Only what a client needs. The mock is its proxy and refuses every other host."""
        path = [first, node_folder(self.name), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.home),
            "TMPDIR": str(self.scratch),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.url),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
        }

    def remaining_s(self) -> float:
        """Seconds to the deadline; raises OutOfTime after it."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise OutOfTime
        return remaining

    def set_env(self, **more: str) -> None:
        """Add a client's own variables; the caller's override them."""
        self.env = {**self.env, **more, **self.given_env}

    def copy_transcripts(self, *patterns: str) -> None:
        """Copy the session files below HOME that this run wrote."""
        since = time.time() - (time.monotonic() - self.began) - 1
        for pattern in patterns:
            for file in sorted(self.home.glob(pattern)):
                if file.is_file() and file.stat().st_mtime >= since:
                    shutil.copyfile(file, self.transcripts / file.name)

    def each(self, first: list[Any], later: Callable[[str | None], list[Any]], prompts: list[str]) -> str | None:
        """Start a process for each prompt; the later ones resume the session, whose id is returned."""
        session = None
        for i, prompt in enumerate(prompts):
            child = Child(self, [*(later(session) if i else first), prompt])
            try:
                if i == 0:
                    value = child.until(lambda value: any(key in value for key in SESSION_KEYS))
                    session = value and next(value[key] for key in SESSION_KEYS if key in value)
                while child.until(lambda _value: False):
                    pass
            finally:
                child.finish()
        return session
