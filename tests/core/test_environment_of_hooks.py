"""Hooks take no command, address, home folder or Python setting from the folder and environment of a project."""

import json
from pathlib import Path

import pytest
from conftest import NOW, Run

from core import config


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "clone"
    (folder / ".git").mkdir(parents=True)
    return folder


def payload(project: Path, **more: str) -> str:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "store the tides in UTC"}
    return json.dumps(prompt | {"cwd": str(project)} | more)


def ignored(run: Run) -> list[str]:
    run("hook", "pi", "turn_end", stdin='{"session_id": "drain"}', env=NOW)  # stores the events that wait
    events = run("otel", "search", "config.variable_ignored", "--hours", "1", env=NOW).result["events"]
    return sorted(event["metadata"]["key"] for event in events)


@pytest.mark.parametrize("name", [name for name, setting in config.SETTINGS.items() if setting.user_only])
def test_settings_that_act_come_from_the_file(monkeypatch: pytest.MonkeyPatch, home: Path, name: str) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    default = config.SETTINGS[name].default
    monkeypatch.setenv(
        config.variable(name), "auto" if name == "otel.export" else "typesense" if name == "store.backend" else "7"
    )
    assert config.distrust_environment("/") == [config.variable(name)]
    settings = config.load()
    assert (settings.get_int(name) if isinstance(default, int) else settings.get_str(name)) == default


def test_a_model_command_from_the_environment_is_not_run(run: Run, project: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    env = {**NOW, "JOELCLAW_MODEL_COMMAND": f"tee {mark}", "TYPESENSE_API_KEY": "k", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}
    for event, more in (
        ("UserPromptSubmit", {}),
        ("PreCompact", {"trigger": "auto"}),
        ("SessionEnd", {"reason": "other"}),
    ):
        run("hook", "claude", stdin=payload(project, hook_event_name=event, **more), env=env, cwd=project)
    assert not mark.exists()
    assert ignored(run) == ["JOELCLAW_MODEL_COMMAND", "OTEL_EXPORTER_OTLP_ENDPOINT", "TYPESENSE_API_KEY"]
    run("hook", "claude", stdin=payload(project), env=env, cwd=project)
    assert len(ignored(run)) == 3, "each is reported once"


@pytest.mark.parametrize("setting", [".memory", "memory/../.memory", "ABSOLUTE", "LINK"])
@pytest.mark.parametrize("place", ["the project's folder", "another folder"])
def test_the_home_is_not_in_the_project(run: Run, project: Path, tmp_path: Path, setting: str, place: str) -> None:
    (project / ".memory").mkdir()
    (tmp_path / "link").symlink_to(project)
    path = {"ABSOLUTE": f"{project}/.memory", "LINK": f"{tmp_path}/link/.memory"}.get(setting, setting)
    env = {**NOW, "HOME": str(tmp_path / "person"), "JOELCLAW_HOME": path}
    cwd = project if place == "the project's folder" else tmp_path
    run("hook", "claude", stdin=payload(project), env=env, cwd=cwd)
    run("checkpoint", "save", "--session", "s", "--message", "and the tides of May", env=env, cwd=project)
    assert not list((project / ".memory").iterdir())
    own = {**NOW, "JOELCLAW_HOME": str(tmp_path / "person" / ".joelclaw")}
    texts = [message["text"] for message in run("checkpoint", "show", "s", env=own, cwd=Path("/")).result["messages"]]
    assert texts == ["store the tides in UTC", "and the tides of May"]
    events = run("otel", "search", "config.variable_ignored", "--hours", "1", env=own, cwd=Path("/")).result["events"]
    assert [event["metadata"]["key"] for event in events] == ["JOELCLAW_HOME"]


def test_a_home_elsewhere_is_used_even_if_the_users_home_is_a_repository(run: Run, tmp_path: Path) -> None:
    person = tmp_path / "person"
    (person / ".git").mkdir(parents=True)
    env = {**NOW, "HOME": str(person), "JOELCLAW_HOME": str(person / "memory")}
    run("hook", "claude", stdin=payload(person), env=env, cwd=person)
    assert (person / "memory" / "sessions" / "s.json").exists()


ROOMS = ("cli", "core", "memory", "otel", "recall", "session")


@pytest.fixture
def python_project(tmp_path: Path) -> Path:
    """A project with packages of our names, which must never be imported."""
    folder = tmp_path / "project"
    for room in ROOMS:
        (folder / room).mkdir(parents=True)
        (folder / room / "__init__.py").write_text("raise SystemExit('the project was imported')\n")
    return folder


def test_project_packages_do_not_shadow_ours(run: Run, python_project: Path) -> None:
    for path in (str(python_project), "."):
        assert run("recall", "anything", cwd=python_project, env={"PYTHONPATH": path}).json["ok"]
    assert run("recall", "anything", cwd=python_project).json["ok"]
