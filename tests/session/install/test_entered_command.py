"""Which joelclaw an entry in a client's settings calls, and why that could not be started."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clients import registry
from core import files
from session.install import backups, entered, hook_command
from session.install.receipt import Receipt

CLAUDE, CODEX = registry.row("claude").settings(), registry.row("codex").settings()


def made(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_why_a_command_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "joelclaw"
    assert entered.fault(str(path)) == ("HOOK_COMMAND_GONE", f"{path} is gone")
    path.symlink_to(tmp_path / "nowhere")
    assert entered.fault(str(path)) == ("HOOK_COMMAND_GONE", f"{path} leads nowhere")
    path.unlink()
    not_executable = ("HOOK_COMMAND_NOT_EXECUTABLE", f"{path} is not executable")
    path.mkdir()
    assert entered.fault(str(path)) == not_executable
    path.rmdir()
    assert entered.fault(made(path, "#!/bin/sh\n", 0o644)) == not_executable
    path.chmod(0o755)
    assert entered.fault(str(path)) is None
    made(path, f"#!{tmp_path}/python -I\n")
    gone = f"{path} is there, but {tmp_path}/python, which is to run it, is gone"
    assert entered.fault(str(path)) == ("HOOK_INTERPRETER_GONE", gone)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert entered.fault("joelclaw") == ("HOOK_COMMAND_GONE", "no `joelclaw` is on the PATH")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert entered.fault("joelclaw") == ("HOOK_INTERPRETER_GONE", gone)


@pytest.mark.parametrize(
    ("text", "interpreter"),
    [
        ("#!/a/python -I\nx", "/a/python"), ("#! /a/python", "/a/python"), ("#!python\n", ""), ("#!\n", ""),
        ("\x7fELF", ""), ("", ""), ("# !/a/python", ""),
        ("#!/bin/sh\n'''exec' /a/python \"$0\" \"$@\"\n' '''", "/a/python"),
        ("#!/bin/sh\n'''exec' \"/a b/python\" \"$0\" \"$@\"\n", "/a b/python"),
        ("#!/bin/sh\nexec /a/python", "/bin/sh"),
    ],
)  # fmt: skip
def test_the_program_that_runs_a_script_stands_in_its_first_lines(tmp_path: Path, text: str, interpreter: str) -> None:
    assert entered._interpreter(made(tmp_path / "x", text)) == interpreter
    assert entered._interpreter(str(tmp_path / "none")) == ""


def test_what_mends_a_command_goes_by_how_it_is_named() -> None:
    assert entered.fix("pi", "/o/joelclaw") == "joelclaw install pi"
    assert entered.fix("pi", "joelclaw") == "put joelclaw on the PATH of this user"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("joelclaw hook claude", [("claude", "joelclaw")]), ("/o/joelclaw hook pi-x; :", [("pi-x", "/o/joelclaw")]),
        ("o=$(/o/joelclaw hook a_1) && x", [("a_1", "/o/joelclaw")]), ('"/o/joelclaw hook a"', [("a", "/o/joelclaw")]),
        ("'/a b/joelclaw' hook claude", [("claude", "/a b/joelclaw")]), ("/o/other hook claude", []),
        ("joelclaw recall", []), ("exec;joelclaw hook a", [("a", "joelclaw")]),
        ("x|joelclaw hook a", [("a", "joelclaw")]),
    ],
)  # fmt: skip
def test_the_command_of_an_entry_is_read_from_its_string(command: str, found: list[Any]) -> None:
    assert list(entered._in_strings({"a": [1, {"command": command}], "b": None})) == found


def test_the_files_of_receipts_are_looked_at_and_each_is_told_once(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    assert entered.problems() == []
    gone, here = tmp_path / "gone" / "joelclaw", made(tmp_path / "joelclaw", "#!/bin/sh\n")
    settings = tmp_path / "settings.json"
    entries = {"a": f"{gone} hook claude", "b": f"{gone} hook claude", "c": f"{here} hook claude"}
    settings.write_text("\ufeff" + json.dumps(entries))
    extension = tmp_path / "joelclaw.ts"
    extension.write_text(f'// joelclaw\nconst AGENT = "pi";\nconst JOELCLAW = "{gone}";\n')
    for number, path in enumerate((settings, extension, tmp_path / "no")):
        receipt = home / "installs" / f"{number}.json"
        receipt.parent.mkdir(parents=True, exist_ok=True)
        receipt.write_text(json.dumps({"path": str(path)}))
    (home / "installs" / "x.json").write_text("{")
    told = {"code": "HOOK_COMMAND_GONE"}
    assert entered.problems() == [
        {**told, "message": f"the hooks of {name} do nothing: {gone} is gone", "fix": f"joelclaw install {name}"}
        for name in ("claude", "pi")
    ]


@pytest.mark.parametrize(
    ("command", "called"),
    [
        ("joelclaw hook claude", "joelclaw"), ("'/a b/it'\"'\"'s/joelclaw' hook claude", "/a b/it's/joelclaw"),
        ("x; /o/joelclaw  hook claude", "/o/joelclaw"), ("joelclaw hook claude-x", ""), ("my-joelclaw hook claude", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_path_by_which_a_command_calls_joelclaw(command: str, called: str) -> None:
    assert hook_command.called(command, "claude") == called
    assert hook_command.is_call({"command": command}, "claude") is bool(called)


def test_copies_of_a_file_are_in_order_by_their_time_and_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", "50")
    path = tmp_path / "settings.json"
    path.write_text("now")
    path.chmod(0o640)
    copies = [backups.make(str(path), str(path), str(at).encode()) for at in range(3)]
    stem = f"{path}.joelclaw-backup-"
    assert copies == [f"{stem}50", f"{stem}50-2", f"{stem}50-3"]
    assert {os.stat(copy).st_mode & 0o7777 for copy in copies} == {0o640}
    for name in ("9", "100", "50-10", "50-x", "x"):
        Path(stem + name).write_text("then" if name != "100" else "now")
    Path(f"{stem}7").symlink_to(path)
    every = [f"{stem}{name}" for name in ("9", "50", "50-2", "50-3", "50-10", "100")]
    assert backups._every(str(path)) == every
    assert backups.make(str(path), str(path), b"") == f"{stem}50-11"
    os.unlink(f"{stem}50-11")
    assert backups.left(str(path)) == every[:-1], "one that says what the file says goes"
    backups.thin(str(path))
    assert backups._every(str(path)) == [every[0], every[-2]]
    with pytest.raises(FileExistsError):
        backups.create(every[0], b"", 0o600)


def test_a_receipt_comes_back_as_it_was_and_one_that_is_damaged_is_none(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    from session.install.json_parts import Traces

    path = str(tmp_path / "settings.json")
    one = Receipt.of(path, b"data", created=True, traces=Traces(frozenset({"a", "b"}), {"a": " "}, ""))
    assert Receipt.load(path) is None
    one.save()
    assert Receipt.load(path) == one
    assert one.is_of(b"data") and not one.is_of(b"other")
    kept = home / "installs" / (files.safe_name(path) + ".json")
    kept.write_text(kept.read_text().replace('"created": true', '"created": 1'))
    loaded = Receipt.load(path)
    assert loaded is not None and loaded.created is False
    for text in ("{", "[]", "{}"):
        kept.write_text(text)
        assert Receipt.load(path) is None
    Receipt.forget(path)
    Receipt.forget(path)
    assert not kept.exists()
