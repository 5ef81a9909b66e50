"""A session of a real client in a throwaway home, and what its model received."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conftest import JOELCLAW, ROOT, clean_environment
from faults import patient, read_only

sys.path.insert(0, str(ROOT / "tests" / "agents"))
import scenarios
from harness import Outcome, Run

CLIENTS = ("pi", "claude", "codex", "gemini", "qwen", "copilot", "opencode", "openclaw")
HEADING = "## Session Recovery"
FRAME = re.compile(r"<joelclaw-memory .*?</joelclaw-memory>", re.DOTALL)
QUERY = re.compile(r"`(?:[^`]*/)?joelclaw (recall \"[^`]*\") --raw`")
PARALLEL_SESSIONS = 2

FAULTS = {
    "missing": None,
    "hanging": "exec sleep 12",  # Gemini CLI only ends the shell, and then waits for this
    "garbage": r"printf '<joelclaw-memory \377 {{{\n'; echo trouble >&2; exit 3",
    "crashing": "echo trouble >&2; exit 2",
    "read-only": "",
}
"""Scripts that replace `joelclaw`; None: no command. With `read-only` it works, but cannot write its home."""


@dataclass(frozen=True)
class Case:
    """Which client plays which story, and how."""

    client: str
    story: str
    mode: str = "rpc"
    hooks: bool = True
    fault: str = ""

    def without_hooks(self) -> Case:
        """The same session without our hooks."""
        return Case(self.client, self.story, self.mode, hooks=False)

    def __str__(self) -> str:
        parts = [self.client, self.story, self.mode if self.mode != "rpc" else "", self.fault]
        return "-".join(part for part in parts if part) + ("" if self.hooks else "-without")


@dataclass(frozen=True)
class Request:
    """A request to the model. `rule` is the script's rule that answered it: `compact` for the summariser, else None."""

    rule: str | None
    body: dict[str, Any]

    @cached_property
    def texts(self) -> list[str]:
        """Every string in it; some clients escape `<` in the texts of hooks."""
        return [html.unescape(text) if "&lt;joelclaw-memory" in text else text for text in strings(self.body)]

    def count(self, text: str) -> int:
        """How often it contains a text."""
        return sum(part.count(text) for part in self.texts)

    def frames(self) -> list[str]:
        """Our own texts in it."""
        return [frame for part in self.texts for frame in FRAME.findall(part)]


def strings(value: Any) -> list[str]:
    """The strings inside a JSON value."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in strings(part)]


class Workplace:
    """A throwaway folder with HOME, a project, joelclaw's home, and `joelclaw` on PATH."""

    def __init__(self, client: str, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.home, self.memory, self.project = folder / "home", folder / "memory", folder / "project"
        for path in (self.home, self.memory, self.project, folder / "bin"):
            path.mkdir(parents=True, mode=0o700)
        self.command = folder / "bin" / "joelclaw"
        self.command.symlink_to(JOELCLAW)

    def install(self, *words: str) -> None:
        path = f"{self.command.parent}:/usr/bin:/bin"
        self.joelclaw("install", self.client, "--yes", *words, PATH=path)

    def allow_slow_hooks(self) -> None:
        """Let an extension wait ten times as long for a hook, because the machine is busy."""
        for file in self.home.rglob("*"):
            if file.suffix in (".js", ".ts") and file.is_file():
                text = re.sub(r"^(const (?:KILL|WAIT|END)_MS = \d+);", r"\g<1>0;", file.read_text(), flags=re.M)
                file.write_text(text)

    def joelclaw(self, *words: str, **more: str) -> Any:
        """The result of a command in the project."""
        environment = {**clean_environment(self.memory), "HOME": str(self.home), **more}
        done = subprocess.run(
            ["joelclaw", *words, "--json"], executable=self.command, env=environment, cwd=self.project,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)["result"]

    def events(self, action: str) -> list[dict[str, Any]]:
        events = self.joelclaw("otel", "search", action, "--hours", "24", "--limit", "200")["events"]
        return [event for event in events if event["action"] == action]

    def play(
        self, script: dict[str, Any], *, out: str = "out", mode: str = "rpc", extensions: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
    ) -> Outcome:  # fmt: skip
        """Let the client work through a script."""
        variables = {"JOELCLAW_HOME": str(self.memory), "JOELCLAW_HOOK_DEADLINE_MS": "60000"} if env is None else env
        return Run(self.client, script, self.folder, out=out, mode=mode, extensions=extensions, env=variables).play()


def requests_of(outcome: Outcome) -> list[Request]:
    return [Request(request["rule"], request["body"]) for request in outcome.requests]


@dataclass(frozen=True)
class Session:
    """A session that was played."""

    case: Case
    place: Workplace
    outcome: Outcome
    installed: dict[str, bytes]
    """The files below HOME after the installation."""
    answers: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @cached_property
    def script(self) -> dict[str, Any]:
        return scenarios.script(self.case.story, self.case.client, by_hand=self.case.mode == "compact")

    @cached_property
    def requests(self) -> list[Request]:
        """Every request to the model, in order."""
        return requests_of(self.outcome)

    def after_compactions(self) -> list[list[Request]]:
        """The conversation's requests after each compaction, until the next one."""
        groups: list[list[Request]] = []
        before: str | None = None
        for request in self.requests:
            if request.rule == "compact" and before != "compact":
                groups.append([])
            if request.rule in (None, "compact"):
                before = request.rule
            if request.rule is None and groups:
                groups[-1].append(request)
        return groups

    def before_compaction(self) -> list[Request]:
        """The conversation's requests before the first one."""
        first = next(i for i, request in enumerate(self.requests) if request.rule == "compact")
        return [request for request in self.requests[:first] if request.rule is None]

    def note(self) -> str:
        frames = [frame for request in self.requests for frame in request.frames() if HEADING in frame]
        assert frames, f"no recovery note in any of {len(self.requests)} requests: {self.case}"
        return frames[0]

    def queries(self) -> list[str]:
        """The queries of the recovery note, as printed: `recall "…"`."""
        return QUERY.findall(self.note())

    def recalled(self) -> list[str]:
        """Text and context of every hit of the recovery note's queries."""
        hits = [hit for query in self.queries() for hit in self.recall(query)]
        return [text for hit in hits for text in (hit["observation"], *strings(hit.get("context") or []))]

    def recall(self, query: str) -> list[dict[str, Any]]:
        """The hits of a printed query, which is run once."""
        words = tuple(shlex.split(query))
        if words not in self.answers:
            self.answers[words] = self.place.joelclaw(*words)["hits"]
        return self.answers[words]

    def events(self, action: str) -> list[dict[str, Any]]:
        return self.place.events(action)


class Sessions:
    """Plays each session once, in its own folder."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._pool = ThreadPoolExecutor(PARALLEL_SESSIONS)
        self._played: dict[Case, Future[Session]] = {}

    def begin(self, cases: list[Case]) -> None:
        """Start them, in this order."""
        for case in cases:
            folder = (
                self._folder / f"{len(self._played):03}"
            )  # all of the same length, because clients count the characters of paths
            self._played[case] = self._pool.submit(play, case, folder)

    def of(self, case: Case) -> Session:
        """The session of a case, once it has ended."""
        if case not in self._played:
            self.begin([case])
        return self._played[case].result()

    def close(self) -> None:
        """Wait for running sessions, and start no more."""
        self._pool.shutdown(cancel_futures=True)


def play(case: Case, folder: Path) -> Session:
    """Install the hooks into a throwaway home, apply the fault, and run the client through the story."""
    place = Workplace(case.client, folder)
    if case.hooks:
        place.install()
        if case.fault:
            keep_only_hooks(place.home)
        else:
            place.allow_slow_hooks()
    files = [path for path in sorted(place.home.rglob("*")) if path.is_file()]
    installed = {str(path.relative_to(place.home)): path.read_bytes() for path in files}
    replace_command(place.command, FAULTS.get(case.fault, ""))
    env = {"JOELCLAW_HOME": str(place.memory)}
    if not case.fault:
        env |= {"JOELCLAW_HOOK_DEADLINE_MS": "60000", **patient(place.memory)}
        if case.story.startswith("double-"):  # "within a minute" must not depend on how fast the client is
            env["JOELCLAW_NOW_MS"] = str(time.time_ns() // 1_000_000)
    with read_only(place.memory) if case.fault == "read-only" else nullcontext():
        script = scenarios.script(case.story, case.client, by_hand=case.mode == "compact")
        outcome = place.play(script, mode=case.mode, env=env)
    return Session(case, place, outcome, installed)


def keep_only_hooks(home: Path) -> None:
    """Remove the skill and rules, which the client lists whether hooks work or not."""
    for path in sorted(home.rglob("*"), reverse=True):
        if path.is_file() and path.suffix in (".md", ".rules", ".toml") and "joelclaw" in str(path.relative_to(home)):
            path.unlink()
        elif path.name in ("skills", "joelclaw", "rules", "policies") and path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for path in home.rglob("settings.json"):
        settings = json.loads(path.read_text())
        if "hooks" in settings and settings.pop("permissions", None):
            path.write_text(json.dumps(settings, indent=2) + "\n")


def replace_command(path: Path, body: str | None) -> None:
    """Put a shell script in place of the command; None removes it, an empty body keeps it."""
    if body == "":
        return
    path.unlink()
    if body is not None:
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o700)
