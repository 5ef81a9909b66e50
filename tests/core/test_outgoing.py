"""Waiting events and writes leave this machine after the next command or hook, if that is switched on."""

import json
from pathlib import Path

import pytest
from conftest import NOW, NOW_MS, Run, until
from otlp_receiver import Receiver

from core import files

PATIENCE_S = 60
STOP = json.dumps({"hook_event_name": "Stop", "session_id": "s"})


def switched_on(receiver: Receiver, minute: int) -> dict[str, str]:
    return {**receiver.env, "JOELCLAW_OTEL_EXPORT": "auto", "JOELCLAW_NOW_MS": str(NOW_MS + minute * 60_000)}


def switched_on_in_file(receiver: Receiver, home: Path) -> None:
    """Hooks take the collector only from the user's file."""
    variables = "".join(f"{name} = {json.dumps(value)}\n" for name, value in receiver.env.items())
    (home / "config.toml").write_text(f'[otel]\nexport = "auto"\n[environment]\n{variables}')


def sent(receiver: Receiver, home: Path) -> list[str]:
    """The names of the events that came, once the export has ended."""
    until(lambda: not files.is_locked(str(home / "cache" / "otel-export.lock")))
    return [record.event_name for _, record in receiver.records()]


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(("otel", "emit", "build.ok"), None), (("hook", "claude"), STOP), (("memory", "recent"), None)],
    ids=["a hot command", "a hook", "a command of Typer's"],
)
def test_events_go_out(run: Run, receiver: Receiver, home: Path, words: tuple[str, ...], stdin: str | None) -> None:
    run("otel", "emit", "before", env=NOW)
    if words[0] == "hook":
        switched_on_in_file(receiver, home)
    run(*words, stdin=stdin, env=switched_on(receiver, 1))
    assert "before" in sent(receiver, home)


def test_status_reports_a_failing_export(run: Run, receiver: Receiver, home: Path) -> None:
    assert run("status").result["otelExport"] is None
    receiver.stop()
    run("otel", "emit", "build.ok", env=switched_on(receiver, 0))
    until(lambda: not files.is_locked(str(home / "cache" / "otel-export.lock")))
    result = run("status", env=switched_on(receiver, 0)).result
    assert "OTEL_EXPORT_FAILING" in [problem["code"] for problem in result["problems"]]
    assert result["otelExport"]["destinations"][0]["waiting"] == 1
