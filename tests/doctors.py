"""A user with clients in which joelclaw is installed, and `joelclaw doctor` run for him."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import in_process
from conftest import JOELCLAW, NOW_MS, Run, attempt, clean_environment

FILES = {
    "pi": ".pi/agent/extensions/joelclaw.ts",
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/plugin/joelclaw.js",
}
_UNSET = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME", "SHELL")


@dataclass(frozen=True)
class User:
    """Somebody with a home, a memory, and a project in which he works."""

    folder: Path
    memory: Path
    project: Path
    run: Run

    def environment(self, **more: str) -> dict[str, str]:
        """His environment, at the time at which tests stand still."""
        unset = {**dict.fromkeys(_UNSET, ""), "CLAUDE_CODE_SIMPLE": "", "PI_CODING_AGENT_DIR": ""}
        return {**unset, "HOME": str(self.folder), "SHELL": "/bin/sh", "JOELCLAW_NOW_MS": str(NOW_MS), **more}

    def file(self, client: str) -> Path:
        """The file of a client with our part in it."""
        return self.folder / FILES[client]

    def call(self, *words: str, ok: bool = True, **env: str) -> Any:
        """Run `joelclaw` in his project; the result."""
        return self.run(*words, env=self.environment(**env), cwd=self.project, ok=ok).json["result"]

    def doctor(self, *words: str, **env: str) -> dict[str, Any]:
        """What `doctor` finds; its status must say what its answer says."""
        done = attempt(self.memory, "doctor", *words, env=self.environment(**env), cwd=self.project)
        result: dict[str, Any] = done.envelope["result"]
        assert (done.code, done.err) == (0 if result["healthy"] else 1, ""), done
        assert done.envelope["ok"] is True
        return result

    def found(self, *words: str, **env: str) -> dict[str, list[str]]:
        """The codes that `doctor` finds, by subject; notes that nothing was called yet are left out."""
        codes: dict[str, list[str]] = {}
        for one in self.doctor(*words, **env)["findings"]:
            assert one["message"] and (one["fix"] or one["severity"] == "ok"), one
            if (one["code"], one["severity"]) != ("HOOK_NEVER_CALLED", "note"):
                codes.setdefault(one["subject"], []).append(one["code"])
        return codes

    def installed_elsewhere(self, client: str) -> Path:
        """Install from another environment, as from one that is made and deleted; returns the joelclaw of it."""
        copy = self.folder / "venv" / "bin" / "joelclaw"
        if not copy.exists():
            copy.parent.mkdir(parents=True)
            shutil.copy(JOELCLAW, copy)
        environment = clean_environment(self.memory, **self.environment())
        assert in_process.call(str(copy), ("install", client), None, environment, self.project)[0] == 0
        return copy


def user(tmp_path: Path, home: Path, run: Run) -> User:
    """Such a user, to whom nothing has happened yet."""
    folder, project = tmp_path / "somebody", tmp_path / "project"
    for one in (folder, project):
        one.mkdir()
    return User(folder, home, project, run)
