"""A client's process, its surroundings, and the mock model that it talks to."""

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
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import mock_llm

KEY = "dummy-key-not-real"
SESSION_KEYS = ("thread_id", "sessionID", "session_id")
"""What the clients call the session's id in their JSON output."""


class OutOfTime(Exception):
    """The run's deadline has passed."""


def merge(old: Any, new: Any) -> Any:
    """`new` into `old`: objects merge, lists get what they lack, the rest is replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: merge(old[key], value) if key in old else value for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return old + [value for value in new if value not in old]
    return new


def merge_json(path: Path, new: dict[str, Any], replace: tuple[str, ...] = ()) -> None:
    """Merge an object into a JSON file; what was at the key path `replace` goes first."""
    old: dict[str, Any] = {}
    if path.exists() and path.read_text(encoding="utf-8").strip():
        try:
            old = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as fault:
            raise SystemExit(f"{path}: not plain JSON, so nothing was merged into it ({fault})") from fault
    at = old
    for key in replace[:-1]:
        at = at.get(key, {})
    if replace:
        at.pop(replace[-1], None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(merge(old, new), indent=2) + "\n", encoding="utf-8")


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL file; lines that are none are left out."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value


class Child:
    """One client process in a process group of its own; stdout goes to OUT/stdout.txt and, by lines, to a queue."""

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
        with open(self.run.out / "stdout.txt", "ab") as file:
            for line in self.process.stdout:
                file.write(line)
                file.flush()
                self.lines.put(line.decode("utf-8", "replace"))
        self.lines.put(None)

    def send(self, value: dict[str, Any]) -> None:
        """Write one line of JSON to its stdin; nothing when it is gone."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write((json.dumps(value) + "\n").encode())
            self.process.stdin.flush()

    def until(self, test: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """The first object on stdout that passes the test; None when stdout has ended."""
        while True:
            try:
                line = self.lines.get(timeout=self.run.left())
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
        """Wait for its end (at most `grace` seconds, then end it), and keep the exit status."""
        with suppress(BrokenPipeError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            if sys.exc_info()[0]:  # something went wrong: do not wait
                return
            self.process.wait(min(self.run.left(), grace or 1e9))
        except subprocess.TimeoutExpired:
            if not grace:
                raise OutOfTime from None
        finally:
            stop(self.process)
            self.err.close()
            self.run.exit_codes.append(self.process.returncode)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a child's process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
    process.wait()


class Run:
    """One run: paths, environment, deadline, mock model."""

    def __init__(self, given: Namespace, script: dict[str, Any], client: Any):
        self.client = client
        self.began = time.monotonic()
        self.deadline = self.began + given.timeout
        self.mode: str = given.mode
        self.home, self.workdir, self.out = (path.resolve() for path in (given.home, given.workdir, given.out))
        self.extensions: list[Path] = [path.resolve() for path in given.extension]
        self.extra: list[str] = given.client_arg
        self.exit_codes: list[int] = []
        self.limits: dict[str, Any] = {**client.LIMITS, **script.get("client", {})}
        self.command = given.dir.resolve() / "node_modules" / ".bin" / client.COMMAND
        if not self.command.exists():
            raise SystemExit(f"{given.client} is not installed in {given.dir}; run: agents.py install {given.client}")
        if self.out.exists() and any(self.out.iterdir()):
            raise SystemExit(f"--out {self.out} is not empty")
        self.transcripts = self.out / "transcripts"
        for folder in (self.home, self.workdir, self.transcripts):
            folder.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="agent-"))
        self.mock = mock_llm.serve(script, self.out / "requests.jsonl", 0, str(self.workdir))
        self.url = f"http://127.0.0.1:{self.mock.server_port}"
        threading.Thread(target=self.mock.serve_forever, daemon=True).start()
        self.given_env = dict(pair.split("=", 1) for pair in given.env)
        self.env = self._environment([str(path.resolve()) for path in given.path_prefix])

    def _environment(self, first: list[str]) -> dict[str, str]:
        """Only what a client needs; its proxy is the mock, which refuses every other host."""
        node = shutil.which("node")
        path = [*first, *([str(Path(node).parent)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.home),
            "TMPDIR": str(self.scratch),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.url),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
        }

    def left(self) -> float:
        """Seconds to the deadline. Raises OutOfTime when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left

    def set_env(self, **more: str) -> None:
        """Add a client's own variables; those of --env stand above them."""
        self.env = {**self.env, **more, **self.given_env}

    def requests(self) -> list[dict[str, Any]]:
        """What the mock has logged so far."""
        log = self.out / "requests.jsonl"
        return list(objects(log)) if log.exists() else []

    def close(self) -> None:
        """End the mock."""
        self.mock.shutdown()
        self.mock.server_close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def copy_transcripts(self, *patterns: str) -> None:
        """Keep the session files below HOME that this run wrote."""
        since = time.time() - (time.monotonic() - self.began) - 1
        for pattern in patterns:
            for file in sorted(self.home.glob(pattern)):
                if file.is_file() and file.stat().st_mtime >= since:
                    shutil.copyfile(file, self.transcripts / file.name)

    def each(self, first: list[Any], later: Callable[[str | None], list[Any]], prompts: list[str]) -> str | None:
        """One process for each prompt, the later ones resuming the session; returns the session's id."""
        session = None
        for i, prompt in enumerate(prompts):
            child = Child(self, [*(later(session) if i else first), *self.extra, prompt])
            try:
                if i == 0:
                    told = child.until(lambda value: any(key in value for key in SESSION_KEYS))
                    session = told and next(told[key] for key in SESSION_KEYS if key in told)
                while child.until(lambda _value: False):
                    pass
            finally:
                child.finish()
        return session
