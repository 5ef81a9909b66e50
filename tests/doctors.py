"""A user who has joelclaw installed in several clients and runs `joelclaw doctor`."""

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
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/settings.json",
    "opencode": ".config/opencode/plugin/joelclaw.js",
}
_UNSET = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME", "SHELL")


@dataclass(frozen=True)
class User:
    """A user with a home folder, a joelclaw home, and a project."""

    folder: Path
    memory: Path
    project: Path
    run: Run

    def environment(self, **more: str) -> dict[str, str]:
        """The user's environment, with time frozen."""
        unset = {**dict.fromkeys(_UNSET, ""), "CLAUDE_CODE_SIMPLE": "", "PI_CODING_AGENT_DIR": ""}
        return {**unset, "HOME": str(self.folder), "SHELL": "/bin/sh", "JOELCLAW_NOW_MS": str(NOW_MS), **more}

    def file(self, client: str) -> Path:
        """The file in which a client calls us."""
        return self.folder / FILES[client]

    def call(self, *words: str, ok: bool = True, **env: str) -> Any:
        """Run `joelclaw` in the project; returns its result."""
        return self.run(*words, env=self.environment(**env), cwd=self.project, ok=ok).json["result"]

    def doctor(self, *words: str, **env: str) -> dict[str, Any]:
        """Run `doctor`; its exit code must agree with its answer."""
        done = attempt(self.memory, "doctor", *words, env=self.environment(**env), cwd=self.project)
        result: dict[str, Any] = done.envelope["result"]
        assert (done.code, done.err) == (0 if result["healthy"] else 1, ""), done
        assert done.envelope["ok"] is result["healthy"]
        return result

    def codes(self, *words: str, **env: str) -> dict[str, list[str]]:
        """The codes of doctor's findings by subject, without the note that no hook was called yet."""
        codes: dict[str, list[str]] = {}
        for finding in self.doctor(*words, **env)["findings"]:
            assert finding["message"] and (finding["fix"] or finding["severity"] == "ok"), finding
            if (finding["code"], finding["severity"]) != ("HOOK_NEVER_CALLED", "note"):
                codes.setdefault(finding["subject"], []).append(finding["code"])
        return codes

    def installed_elsewhere(self, client: str) -> Path:
        """Install with a `joelclaw` from another environment; returns its path."""
        copy = self.folder / "venv" / "bin" / "joelclaw"
        if not copy.exists():
            copy.parent.mkdir(parents=True)
            shutil.copy(JOELCLAW, copy)
        environment = clean_environment(self.memory, **self.environment())
        assert in_process.call(str(copy), ("install", client), None, environment, self.project)[0] == 0
        return copy


def user(tmp_path: Path, home: Path, run: Run) -> User:
    """A new user."""
    folder, project = tmp_path / "somebody", tmp_path / "project"
    for path in (folder, project):
        path.mkdir()
    return User(folder, home, project, run)
