"""Why the command of an installed hook could not be started, as `status` and `doctor` tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from session import doctor_hooks
from session.install import entries


def made(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_why_a_command_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "joelclaw"
    assert doctor_hooks.command_fault(str(path)) == ("HOOK_COMMAND_GONE", f"{path} is gone")
    path.symlink_to(tmp_path / "nowhere")
    assert doctor_hooks.command_fault(str(path)) == ("HOOK_COMMAND_GONE", f"{path} leads nowhere")
    path.unlink()
    not_executable = ("HOOK_COMMAND_NOT_EXECUTABLE", f"{path} is not executable")
    path.mkdir()
    assert doctor_hooks.command_fault(str(path)) == not_executable
    path.rmdir()
    assert doctor_hooks.command_fault(made(path, "#!/bin/sh\n", 0o644)) == not_executable
    path.chmod(0o755)
    assert doctor_hooks.command_fault(str(path)) is None
    wrapped = f'#!/bin/sh\n\'\'\'exec\' "{tmp_path}/python" "$0" "$@"\n'  # as installers write it around a long path
    for text in (f"#!{tmp_path}/python -I\n", wrapped):
        made(path, text)
        gone = f"{path} exists, but its interpreter {tmp_path}/python is gone"
        assert doctor_hooks.command_fault(str(path)) == ("HOOK_INTERPRETER_GONE", gone)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert doctor_hooks.command_fault("joelclaw") == ("HOOK_COMMAND_GONE", "no `joelclaw` is on the PATH")


@pytest.mark.parametrize(
    ("command", "called", "ours"),
    [
        ("joelclaw hook claude 2>/dev/null || :", "joelclaw", True),
        ("'/a b/it'\"'\"'s/joelclaw' hook claude 2>/dev/null || :", "/a b/it's/joelclaw", True),
        ("/o/joelclaw hook claude >/dev/null 2>&1 || :", "/o/joelclaw", True),
        ("x; /o/joelclaw  hook claude", "/o/joelclaw", False),
        ("joelclaw hook claude | tee log", "joelclaw", False),
        ("joelclaw hook claude-x", "", False),
        ("my-joelclaw hook claude", "", False),
    ],
)
def test_which_commands_call_joelclaw_and_which_are_ours(command: str, called: str, ours: bool) -> None:
    assert entries.joelclaw_call({"command": command}, "claude") == (called if ours else None)
