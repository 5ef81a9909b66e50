"""A session of a real client, from a throwaway home to what the model received."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conftest import JOELCLAW, ROOT, clean_environment
from faults import patient, read_only

CLIENTS = ("pi", "claude", "codex", "gemini", "opencode")
AGENTS = ROOT / "tests" / "agents"
HEADING = "## Session Recovery"
FRAME = re.compile(r"<joelclaw-memory .*?</joelclaw-memory>", re.DOTALL)
QUERY = re.compile(r"`(?:[^`]*/)?joelclaw (recall \"[^`]*\") --raw`")
AT_A_TIME = 2
RUN_S = 900
"""After which a client is ended, and its session is a failure."""

FAULTS = {
    "missing": None,
    "hanging": "exec sleep 12",  # Gemini CLI ends the shell alone, and then waits for this
    "garbage": r"printf '<joelclaw-memory \377 {{{\n'; echo trouble >&2; exit 3",
    "crashing": "echo trouble >&2; exit 2",
    "read-only": "",
}
"""What stands in the place of `joelclaw`; None: nothing. With `read-only` it works, and its home cannot be written."""


@dataclass(frozen=True)
class Case:
    """One session: which client, which story, and how."""

    client: str
    story: str
    mode: str = "rpc"
    hooks: bool = True
    fault: str = ""

    def without_hooks(self) -> Case:
        """The same, by a client that knows nothing of us."""
        return Case(self.client, self.story, self.mode, hooks=False)

    def __str__(self) -> str:
        parts = [self.client, self.story, self.mode if self.mode != "rpc" else "", self.fault]
        return "-".join(part for part in parts if part) + ("" if self.hooks else "-without")


@dataclass(frozen=True)
class Request:
    """What a client sent to the model.

    Args:
        rule: the script's rule that answered it: `compact` for the summariser's; None in the conversation.
    """

    rule: str | None
    body: dict[str, Any]

    @cached_property
    def texts(self) -> list[str]:
        """Every string in it; Gemini writes `&lt;` for a `<` that comes from a hook."""
        return [html.unescape(text) if "hook_context" in text else text for text in strings(self.body)]

    def count(self, text: str) -> int:
        """How often it holds a text."""
        return sum(one.count(text) for one in self.texts)

    def frames(self) -> list[str]:
        """Our own texts in it."""
        return [frame for one in self.texts for frame in FRAME.findall(one)]


def strings(value: Any) -> list[str]:
    """The strings inside a JSON value."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in strings(part)]


@dataclass(frozen=True)
class Session:
    """A session that was played."""

    case: Case
    folder: Path
    code: int
    told: str
    """What the harness printed."""
    installed: dict[str, bytes]
    """The files below HOME after the installation."""
    answers: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the harness saw."""
        path = self.folder / "out" / "summary.json"
        assert path.exists(), self.told
        summary: dict[str, Any] = json.loads(path.read_text())
        return summary

    @cached_property
    def script(self) -> dict[str, Any]:
        """What the mock went by."""
        script: dict[str, Any] = json.loads(script_of(self.case).read_text())
        return script

    @cached_property
    def requests(self) -> list[Request]:
        """Every request to the model, in order."""
        lines = (self.folder / "out" / "requests.jsonl").read_text().splitlines()
        asked = [json.loads(line) for line in lines]
        return [Request(one["rule"], one["body"]) for one in asked if "n" in one]

    def after_compactions(self) -> list[list[Request]]:
        """The conversation's requests after each compaction, until the next one."""
        found: list[list[Request]] = []
        before: str | None = None
        for request in self.requests:
            if request.rule == "compact" and before != "compact":
                found.append([])
            if request.rule in (None, "compact"):
                before = request.rule
            if request.rule is None and found:
                found[-1].append(request)
        return found

    def before_compaction(self) -> list[Request]:
        """The conversation's requests before the first one."""
        first = next(i for i, request in enumerate(self.requests) if request.rule == "compact")
        return [request for request in self.requests[:first] if request.rule is None]

    def note(self) -> str:
        """The recovery note that the model received."""
        frames = [frame for request in self.requests for frame in request.frames() if HEADING in frame]
        assert frames, f"no recovery note in any of {len(self.requests)} requests: {self.folder}"
        return frames[0]

    def queries(self) -> list[str]:
        """The queries of the recovery note, as printed: `recall "…"`."""
        return QUERY.findall(self.note())

    def joelclaw(self, *words: str) -> Any:
        """The result of a command in this session's memory; each is run once."""
        if words not in self.answers:
            done = subprocess.run(
                [JOELCLAW, *words, "--json"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=clean_environment(self.folder / "memory", HOME=str(self.folder / "home")),
                cwd=self.folder,
                timeout=30,
            )
            assert done.returncode == 0, (words, done.stdout, done.stderr)
            self.answers[words] = json.loads(done.stdout)["result"]
        return self.answers[words]

    def recalled(self) -> list[str]:
        """Text and context of every hit of the recovery note's queries."""
        hits = [hit for query in self.queries() for hit in self.joelclaw(*shlex.split(query))["hits"]]
        return [text for hit in hits for text in (hit["observation"], *strings(hit.get("context") or []))]

    def events(self, action: str) -> list[dict[str, Any]]:
        """Events with this action."""
        found = self.joelclaw("otel", "search", action, "--hours", "24", "--limit", "200")["events"]
        return [event for event in found if event["action"] == action]


class Sessions:
    """Sessions, each played once, in folders below one."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._pool = ThreadPoolExecutor(AT_A_TIME)
        self._played: dict[Case, Future[Session]] = {}

    def begin(self, cases: list[Case]) -> None:
        """Start them, in this order."""
        for case in cases:
            folder = self._folder / f"{len(self._played):03}"  # of one length: a client counts the characters of paths
            self._played[case] = self._pool.submit(play, case, folder)

    def of(self, case: Case) -> Session:
        """The session of a case; waits for its end."""
        if case not in self._played:
            self.begin([case])
        return self._played[case].result()

    def close(self) -> None:
        """Start no more, and wait for those that run: each has its own time limit."""
        self._pool.shutdown(cancel_futures=True)


def script_of(case: Case) -> Path:
    """The mock's script."""
    return AGENTS / "scenarios" / f"{case.story}.{case.client}.json"


def play(case: Case, folder: Path) -> Session:
    """Install the hooks into a throwaway home, break what is to be broken, and run the client through the story."""
    home, memory, commands = folder / "home", folder / "memory", folder / "bin"
    for one in (home, memory, commands, folder / "project"):
        one.mkdir(parents=True, mode=0o700)
    (commands / "joelclaw").symlink_to(JOELCLAW)
    if case.hooks:
        install(case.client, folder)
        if case.fault:
            hooks_alone(home)
        else:
            unhurried(home)
    installed = {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
    break_joelclaw(commands / "joelclaw", FAULTS.get(case.fault, ""))
    words = [case.client, "--mode", case.mode, "--script", str(script_of(case)), "--timeout", str(RUN_S)]
    words += ["--home", str(home), "--workdir", str(folder / "project"), "--out", str(folder / "out")]
    words += ["--path-prefix", str(commands), "--env", f"JOELCLAW_HOME={memory}"]
    if not case.fault:
        unpressed = {"JOELCLAW_HOOK_DEADLINE_MS": "60000", **patient(memory)}
        if case.story == "double-compaction":  # "within a minute" must not depend on how fast the client is
            unpressed["JOELCLAW_NOW_MS"] = str(time.time_ns() // 1_000_000)
        words += [word for name, value in unpressed.items() for word in ("--env", f"{name}={value}")]
    with read_only(memory) if case.fault == "read-only" else nullcontext():
        done = subprocess.run(
            [sys.executable, str(AGENTS / "agents.py"), "run", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_S + 60,
        )
    return Session(case, folder, done.returncode, done.stdout, installed)


def install(client: str, folder: Path) -> None:
    """As a user does it."""
    environment = {
        "HOME": str(folder / "home"),
        "PATH": f"{folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "JOELCLAW_HOME": str(folder / "memory"),
    }
    subprocess.run(
        ["joelclaw", "install", client, "--yes"],
        executable=str(folder / "bin" / "joelclaw"),
        env=environment,
        cwd=folder / "project",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=30,
    )


def hooks_alone(home: Path) -> None:
    """Leave the hooks, or the extension, of what was installed: a client lists skills and rules however hooks fare."""
    for path in sorted(home.rglob("*"), reverse=True):
        if path.is_file() and path.suffix in (".md", ".rules", ".toml") and "joelclaw" in str(path.relative_to(home)):
            path.unlink()
        elif path.name in ("skills", "joelclaw", "rules", "policies") and path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for path in home.rglob("settings.json"):
        settings = json.loads(path.read_text())
        if "hooks" in settings and settings.pop("permissions", None):
            path.write_text(json.dumps(settings, indent=2) + "\n")


def unhurried(home: Path) -> None:
    """Let an extension wait ten times as long for a hook: what a slow machine leaves out is not looked at here."""
    for path in home.rglob("*"):
        if path.suffix in (".js", ".ts") and path.is_file():
            path.write_text(re.sub(r"^(const (?:KILL|WAIT|END)_MS = \d+);", r"\g<1>0;", path.read_text(), flags=re.M))


def break_joelclaw(path: Path, body: str | None) -> None:
    """Put something else in the command's place; nothing where the body is empty."""
    if body == "":
        return
    path.unlink()
    if body is not None:
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o700)
