"""Takes one session through `joelclaw hook …`, at the moments and in the order in which its client calls it.

The transcript grows line by line beside it, and the clock stands at each line's time. The order of a compaction was
measured: Claude Code calls PreCompact, SubagentStop of its summariser (with the summary), SessionStart `compact` and
PostCompact, and writes boundary and summary after them; Codex calls PreCompact, writes, and calls PostCompact and
SessionStart `compact`; pi's extension tells before_compaction, and after_compaction when the entry is written. Gemini
CLI tells nothing: the recovery note comes with the next event that reaches its model.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recovery_score import ANSWER_CHARS
from recovery_session import Moment, Session

import clients
from core import files, json_text
from core.config import Config

if TYPE_CHECKING:
    from clients.base import Kind
    from clients.entries import Entry

PRINTED = re.compile(r"`([^`\n]*\brecall [\"'][^`\n]+)`")
"""A recall that a text offers: in backticks, with its query in quotes."""
BOUND_S = 2.0
"""`hook.deadline_ms` as it is unless set; the replay gives more, so that figures do not depend on the machine."""
_LIMIT_S = 60
_REST_S = 10
_LATE_HOOKS = 10
"""For so many events the recovery note of a client that tells nothing of its compaction is waited for."""
_EXTENSION_NAMES: dict[Kind, str] = {
    "start": "session_start",
    "prompt": "prompt",
    "tool": "tool",
    "turn": "turn_end",
    "before_compaction": "before_compaction",
    "after_compaction": "after_compaction",
}
_LAST_MESSAGES = 12


class Stopped(Exception):
    """The run was interrupted."""


@dataclass(frozen=True)
class Injection:
    """A text that a hook handed out. `place`: the moment after which."""

    place: int
    kind: Kind
    text: str


class Replay:
    """One session in a home: its own, or one that it shares with those before it.

    Args:
        command: the `joelclaw` to spawn.
        stop: set when the run is interrupted; the next call then raises `Stopped`.
    """

    def __init__(self, session: Session, command: Path, home: Path, stop: threading.Event) -> None:
        self.session = session
        self.command = command
        self.home = home
        self.stop = stop
        self.injections: list[Injection] = []
        self.hooks = 0
        self.late = 0
        """Hooks that took longer than the 2 s that a client waits."""
        self.faults: list[str] = []
        self.now = session.began
        self.line = 0
        self.calls = {moment.tool.call: moment for moment in session.moments if moment.tool}
        client = clients.by_name(session.client)
        self.turn_ends = _turn_ends(session.moments)
        self.compaction: int | None = None
        """The compaction that is going on."""
        self.before = (0, 0)
        """The hooks and the injections before it."""
        self.is_extension = client.extension
        self.is_silent = client.compaction_sign == "usage"
        self.writes_late = session.client == "claude"
        self.names: dict[Kind, str] = dict(_EXTENSION_NAMES)
        if not self.is_extension:
            self.names = {kind: name for name, kind in client.events.items()}
        folder = home / "transcripts"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stem = f"rollout-{session.id}" if session.client == "codex" else session.id
        self.copy = folder / f"{stem}.jsonl"
        self.environment = {
            "PATH": f"{command.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "JOELCLAW_HOME": str(home / ".joelclaw"),
            "JOELCLAW_HOOK_DEADLINE_MS": str(_LIMIT_S * 1000),
            "LANG": "C.UTF-8",
        }

    def go(self, after: Callable[[int, str], None]) -> None:
        """Replay until the last compaction that can be measured, all of a session that has none.

        Args:
            after: called after each of them with its place and the text that was handed out.
        """
        waiting = set(self.session.measurable)
        by_line: dict[int, list[tuple[int, Moment]]] = {}
        for place, moment in enumerate(self.session.moments):
            by_line.setdefault(moment.line, []).append((place, moment))
        held: list[bytes] = []
        with self.copy.open("ab") as out:
            self.hook("start", 0, source="startup")
            for n, line in enumerate(self.session.lines):
                here = by_line.get(n, [])
                self.now, self.line = self.session.at(n) or self.now, n
                self._begins(here)
                held.append(line)
                if self._waits_for_summary(here):
                    continue
                text = self._handed_out(here, written=False)
                out.write(b"".join(held))
                out.flush()
                held = []
                self._worked(here)
                if text is None:
                    text = self._handed_out(here, written=True)
                if self.compaction is None or text is None:
                    continue
                if self.compaction in waiting:
                    after(self.compaction, text)
                    waiting.discard(self.compaction)
                    if not waiting:
                        return
                self.compaction = None

    def hook(self, kind: Kind, place: int, **fields: Any) -> str:
        """Call the client's hook at an event, if it has one for it; what reaches the model."""
        name = self.names.get(kind, "")
        if kind == "after_compaction" and not self.is_extension:
            name, fields = self.names.get("start", ""), {**fields, "source": "compact"}
        if not name:
            return ""
        payload = {"session_id": self.session.id, "transcript_path": str(self.copy), "cwd": self.session.cwd}
        if self.is_extension:
            text = self._call([name], {**payload, **self._extension_fields(place), **fields})
        else:
            text = self._call([], {**payload, "hook_event_name": name, **fields})
        if text:
            self.injections.append(Injection(place, kind, text))
        return text

    def answer(self, printed: str) -> tuple[bool, str]:
        """Run a command as it is printed in a text: whether it runs, and what it answers, 4,000 characters of it.

        One that lacks the program's name is then run with it, so that its answer is judged apart from its spelling.
        """
        done = self._run(["/bin/sh", "-c", printed])
        runs = done.returncode == 0
        if not runs and printed.startswith("recall "):
            done = self._run(["/bin/sh", "-c", f"{shlex.quote(str(self.command))} {printed} --raw"])
        return runs, done.stdout[:ANSWER_CHARS]

    def recall(self, name: str) -> str:
        """What `joelclaw recall NAME` answers."""
        return self._run([str(self.command), "recall", name, "--raw", "--limit", "5"]).stdout

    def rest(self) -> None:
        """Wait for what the hooks left to processes of their own: a real compaction takes minutes."""
        for work in ("task", "queries"):
            lock = self.home / ".joelclaw" / "sessions" / ".locks" / work / self.session.id
            end = time.monotonic() + _REST_S
            while files.is_locked(str(lock)) and time.monotonic() < end:
                time.sleep(0.01)

    def _begins(self, here: list[tuple[int, Moment]]) -> None:
        """What the client tells before it writes a line: a prompt, and that it is about to compact."""
        for place, moment in here:
            if moment.kind == "prompt":
                self.hook("prompt", place, prompt=moment.text)
            elif moment.kind == "compaction":
                self.hook("before_compaction", place, trigger="auto", custom_instructions=None)
                self.compaction = place
                self.before = (self.hooks, len(self.injections))

    def _waits_for_summary(self, here: list[tuple[int, Moment]]) -> bool:
        """Whether the client has not written a line yet: Claude Code writes a boundary together with its summary."""
        return self.writes_late and self.compaction is not None and {one.kind for _, one in here} <= {"compaction"}

    def _handed_out(self, here: list[tuple[int, Moment]], *, written: bool) -> str | None:
        """The text after the compaction that is going on; None where its time has not come.

        Args:
            written: whether the lines up to here are in the transcript.
        """
        if self.compaction is None:
            return None
        if self.writes_late:
            if not written and any(moment.kind == "kept" for _, moment in here):
                return self._compacted(here)
            if written:  # this one left no summary
                self.compaction = None
            return None
        if not written:
            return None
        return self._note_by_now() if self.is_silent else self._compacted(here)

    def _compacted(self, here: list[tuple[int, Moment]]) -> str:
        """The events of a compaction whose summary is there; the text that is handed out."""
        place = here[-1][0] + 1
        self.rest()
        summary = next((moment.text for _, moment in here if moment.kind == "kept"), "")
        written = f"<analysis></analysis>\n<summary>{summary}</summary>"
        if self.session.client == "claude":
            self._tell("SubagentStop", agent_id="acompact", agent_type="", stop_hook_active=False,
                       last_assistant_message=written)  # fmt: skip
            text = self.hook("after_compaction", place)
            self._tell("PostCompact", trigger="auto", compact_summary=written)
            return text
        if self.session.client == "codex":
            self._tell("PostCompact", trigger="auto")
        return self.hook("after_compaction", place)

    def _note_by_now(self) -> str | None:
        """The first text since a compaction that the client did not tell of; None while it may still come."""
        hooks, injections = self.before
        texts = [one.text for one in self.injections[injections:] if one.kind in ("prompt", "tool")]
        return texts[0] if texts else "" if self.hooks - hooks > _LATE_HOOKS else None

    def _worked(self, here: list[tuple[int, Moment]]) -> None:
        """The tool calls that ended on a line, and the turn."""
        for place, moment in here:
            call = self.calls.get(moment.call) if moment.kind == "result" else None
            if call is not None and call.tool is not None:
                self._used(call, call.tool, place + 1, moment)
            if place in self.turn_ends:
                self.hook("turn", place + 1, stop_hook_active=False)

    def _used(self, call: Moment, tool: Entry, place: int, result: Moment) -> None:
        if self.is_extension:
            self.hook("tool", place, tool=tool.tool, files=[] if result.failed else tool.files)
            return
        given, returned = self._raw_input(call.line, tool.call), self._raw_output(result)
        self.hook("tool", place, tool_name=tool.tool, tool_input=given, tool_response=returned, tool_use_id=result.call)

    def _raw_input(self, line: int, identifier: str) -> Any:
        """The input of a tool as the client tells it to its hooks."""
        for part in _parts_with(self.session.records[line], identifier):
            for name in ("input", "arguments", "args"):
                if name in part:
                    given = part[name]
                    return _object(given) if isinstance(given, str) else given
        return {}

    def _raw_output(self, result: Moment) -> Any:
        record = self.session.records[result.line]
        if record.get("toolUseResult"):  # Claude Code's
            return record["toolUseResult"]
        for part in _parts_with(record, result.call):
            for name in ("output", "content", "result"):
                if name in part:
                    return part[name]
        return result.text

    def _extension_fields(self, place: int) -> dict[str, Any]:
        """What our own extension tells with every event."""
        said = [moment.text for moment in self.session.moments[:place] if moment.kind == "prompt"]
        tokens = next((self.session.usage[n] for n in range(self.line, -1, -1) if n in self.session.usage), None)
        window = clients.by_name(self.session.client).context_window((), tokens or 0, Config({}))
        percent = round(tokens * 100 / window, 2) if tokens else None
        return {"messages": said[-_LAST_MESSAGES:], "tokens": tokens, "window": window, "percent": percent}

    def _tell(self, name: str, **fields: Any) -> None:
        """An event that hands nothing to the model."""
        about = {"session_id": self.session.id, "transcript_path": str(self.copy), "cwd": self.session.cwd}
        self._call([], {**about, "hook_event_name": name, **fields})

    def _call(self, words: list[str], payload: dict[str, Any]) -> str:
        began = time.monotonic()
        done = self._run([str(self.command), "hook", self.session.client, *words], json.dumps(payload))
        self.hooks += 1
        self.late += time.monotonic() - began > BOUND_S
        if done.returncode or done.stderr:
            self.faults.append(f"{payload.get('hook_event_name') or words}: {done.returncode} {done.stderr[:200]}")
        return _context(done.stdout)

    def _run(self, words: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
        if self.stop.is_set():
            raise Stopped
        environment = {**self.environment, "JOELCLAW_NOW_MS": str(self.now)}
        try:
            return subprocess.run(
                words, input=given, capture_output=True, text=True, errors="replace", env=environment, cwd=self.home,
                timeout=2 * _LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", f"no answer within {2 * _LIMIT_S} s")


def _turn_ends(moments: list[Moment]) -> set[int]:
    """Where a turn ended: the agent said something, and what follows is a prompt, or nothing."""
    told = [(place, moment.kind) for place, moment in enumerate(moments) if moment.kind not in ("compaction", "kept")]
    following = [kind for _, kind in told[1:]] + ["prompt"]
    return {place for (place, kind), then in zip(told, following, strict=True) if (kind, then) == ("said", "prompt")}


def _context(out: str) -> str:
    """What a hook's answer puts before the model."""
    try:
        answer = json.loads(out)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return out.strip()
    if "messages" in answer:
        return "\n".join(message["content"] for message in answer["messages"])
    text: str = (answer.get("hookSpecificOutput") or {}).get("additionalContext", "")
    return text


def _object(text: str) -> Any:
    try:
        return json_text.loads(text)
    except json_text.InvalidJSON:
        return {"input": text}


def _parts_with(value: Any, identifier: str) -> list[dict[str, Any]]:
    """The objects within a record one of whose values is that id."""
    found: list[dict[str, Any]] = []
    waiting = [value]
    while waiting and identifier:
        one = waiting.pop()
        if isinstance(one, dict):
            if identifier in (other for other in one.values() if isinstance(other, str)):
                found.append(one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found
