"""A session of Claude Code played through its hooks: three turns, a memory that is used, a compaction."""

import json
from pathlib import Path
from typing import Any

from claude_transcript import CWD, SESSION, Transcript
from conftest import Run, until

from core import clock, files

MEMORY = "The harbour worker drains the staging queue with batchSize 40, see ticket HARB-2231 and drain_policy.toml"
USES_IT = "I keep batchSize at 40, as drain_policy.toml and HARB-2231 say."
BEGAN_MS = clock.parse_iso("2026-09-20T10:00:00.000Z") or 0
MINUTE = 60_000


class Lived:
    """Calls the hooks of one session, a minute apart. The home is `folder`/home."""

    def __init__(self, run: Run, folder: Path, session: str = SESSION) -> None:
        self.run = run
        self.session = session
        self.home = folder / "home"
        self.transcript = Transcript(folder / "projects" / "-home-u-gateway" / f"{session}.jsonl")
        self.now = BEGAN_MS

    def env(self) -> dict[str, str]:
        """The frozen time."""
        return {"JOELCLAW_NOW_MS": str(self.now)}

    def hook(self, name: str, **more: Any) -> str:
        """Call a hook; returns its stdout."""
        payload = {"session_id": self.session, "transcript_path": str(self.transcript.path), "cwd": CWD}
        payload["hook_event_name"] = name
        out = self.run("hook", "claude", stdin=json.dumps({**payload, **more}), env=self.env()).out
        lock = self.home / "sessions" / ".work" / "task" / self.session
        if lock.exists():  # what the hook has left to the background is done
            until(lambda: not files.is_locked(str(lock)))
        return out

    def written(self, role: str, content: Any, **more: Any) -> None:
        """Write a line of the transcript."""
        entry = self.transcript.entry(role, content)
        entry["message"] |= more
        self.transcript.write({**entry, "timestamp": clock.iso(self.now)})

    def prompt(self, text: str) -> None:
        """The user sends a prompt."""
        self.now += MINUTE
        self.hook("UserPromptSubmit", prompt=text)
        self.written("user", text)

    def answer(self, text: str, percent: float, *, failed: bool = False) -> None:
        """The agent calls a tool and answers, with `percent` of the context in use; then the turn ends."""
        self.now += MINUTE
        call = f"c{self.transcript.count}"
        self.written("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "make"}}])
        block = {"type": "tool_result", "tool_use_id": call, "content": "drain_queue()", "is_error": failed}
        self.written("user", [block])
        usage = {"input_tokens": int(percent * 2000), "output_tokens": 10}
        self.written("assistant", [{"type": "text", "text": text}], model="claude-sonnet-4-5", usage=usage)
        self.hook("PostToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_response="ok", tool_use_id=call)
        self.now += MINUTE
        self.hook("Stop", stop_hook_active=False)

    def compaction(self, summary: str) -> str:
        """The client compacts; returns the recovery note."""
        self.now += MINUTE
        self.hook("PreCompact", trigger="auto", custom_instructions=None)
        self.now += MINUTE
        self.hook(
            "SubagentStop", agent_id="acompact", agent_type="", last_assistant_message=f"<summary>{summary}</summary>"
        )
        return self.hook("SessionStart", source="compact")


def live(run: Run, folder: Path, session: str = SESSION) -> Lived:
    """Play the whole session."""
    lived = Lived(run, folder, session)
    run("memory", "write", MEMORY, "--global", env=lived.env())
    assert MEMORY in lived.hook("SessionStart", source="startup")
    lived.prompt("why does the gateway drop receipts at noon?")
    lived.answer(USES_IT, 30)
    lived.prompt("then mend the retry of the receipts, please")
    lived.answer("The retry is mended in receipts.py.", 47, failed=True)
    lived.prompt("and now test the receipts under load")
    lived.answer("The load test passes.", 70)
    lived.compaction("the receipts were mended")
    return lived
