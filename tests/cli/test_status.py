"""`joelclaw status` counts what is stored and reports problems."""

from pathlib import Path

from conftest import NOW, NOW_MS, Run
from faults import read_only
from terminal import on_terminal, without_style


def test_status_of_a_home_without_data(run: Run, home: Path) -> None:
    result = run("status").result
    assert result["healthy"] is True
    assert result["problems"] == []
    assert result["home"] == str(home)
    assert result["store"]["exists"] is False
    assert result["store"]["knownSchema"] >= 1
    assert {name: counts["total"] for name, counts in result["counts"].items()} == {
        "observations": 0,
        "episodes": 0,
        "knowledge": 0,
    }
    assert result["events"] == {"total": 0, "errors24h": 0, "last": [], "waiting": 0}
    assert result["sessions"] == {"count": 0, "damaged": 0, "newest": None}
    assert not home.exists(), "asking makes nothing"


def test_doctor_says_how_to_install_if_no_client_is_here(run: Run, tmp_path: Path) -> None:
    answer = run("doctor", env={"HOME": str(tmp_path / "nobody"), "PATH": ""}).json
    assert answer["result"]["clients"] == {}
    assert [step["command"].partition(" ")[2] for step in answer["next_actions"]] == ["install --list"]


def test_services_of_the_public_cli_are_reported_as_absent(run: Run, home: Path) -> None:
    result = run("status").result
    for name in ("server", "worker", "agent_mail", "k8s"):
        assert result[name]["ok"] is None, "neither up nor down"
        assert "not part of this joelclaw" in result[name]["detail"]
    assert set(result["k8s"]) == {"ok", "status", "detail", "hostname", "hostedOn"}
    assert result["latestAgentDispatchCanary"] is None
    assert "agent mail" not in without_style(on_terminal(home, "status").out), "a person is not told of them"


def test_status_counts_stored_documents(run: Run) -> None:
    run("memory", "write", "the deploy script needs the staging key", env=NOW)
    run("otel", "emit", "build.ok", env=NOW)
    run("otel", "emit", "build.broke", "--level", "error", "--success", "false", env=NOW)
    run("otel", "emit", "long.ago", "--level", "fatal", "--timestamp", str(NOW_MS - 2 * 86_400_000), env=NOW)
    run("checkpoint", "save", "--session", "s-1", "--percent", "10", "--message", "port the parser", env=NOW)
    result = run("status", env=NOW).result
    assert result["healthy"] is True
    assert result["counts"]["observations"]["total"] == 1
    assert result["events"]["total"] >= 3
    assert result["events"]["errors24h"] == 1
    broke = next(event for event in result["events"]["last"] if event["action"] == "build.broke")
    assert broke == {"ts": "2026-09-21T14:13:20.000Z", "action": "build.broke", "level": "error", "success": False}
    assert len(result["events"]["last"]) <= 5
    assert result["sessions"]["count"] == 1
    assert result["sessions"]["newest"] == {"sessionId": "s-1", "at": "2026-09-21T14:13:20.000Z"}
    assert result["store"]["bytes"] + result["store"]["walBytes"] > 0
    assert result["store"]["schema"] == result["store"]["knownSchema"]
    assert sum(result["embedding"]["vectors"].values()) == 1


def _problem(run: Run) -> tuple[dict[str, str], dict[str, object]]:
    result = run("status").result
    assert result["healthy"] is False
    (problem,) = (problem for problem in result["problems"] if problem["severity"] == "error")
    assert problem["message"]
    assert problem["fix"]
    return problem, result


def test_a_bad_setting_is_reported_together_with_the_counts(run: Run, home: Path) -> None:
    run("memory", "write", "the deploy script needs the staging key")
    (home / "config.toml").write_text("[recall]\nlimit = 0\n")
    problem, result = _problem(run)
    assert problem["code"] == "CONFIG_INVALID"
    assert "recall.limit" in problem["message"]
    assert result["counts"]["observations"]["total"] == 1  # type: ignore[index]


def test_damaged_session_files_are_counted(run: Run, home: Path) -> None:
    run("checkpoint", "save", "--session", "sound", "--percent", "10", "--message", "port the parser")
    (home / "sessions" / "cut-short.json").write_text('{"sess')
    (home / "sessions" / "old.json.damaged-1").write_text("{")
    (home / "sessions" / "sound.json.lock").touch()
    sessions = run("status").result["sessions"]
    assert sessions["count"] == 2
    assert sessions["damaged"] == 2
    assert sessions["newest"]["sessionId"] == "sound"


def test_a_home_on_a_disk_that_is_read_only_is_reported(run: Run, home: Path) -> None:
    run("memory", "write", "the deploy script needs the staging key")
    with read_only(home):
        problem, result = _problem(run)
    assert problem["code"] == "HOME_READ_ONLY"
    assert str(home) in problem["message"]
    assert "chmod" in problem["fix"]
    assert result["counts"]["observations"]["total"] == 1  # type: ignore[index]
    assert run("status").result["healthy"] is True


def test_settings_that_differ_from_the_defaults_are_listed(run: Run, home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[recall]\nlimit = 9\n")
    unlisted = {"JOELCLAW_HOOK_DEADLINE_MS": ""}  # the tests' own
    env = {"JOELCLAW_CHECKPOINT_WARM_PERCENT": "35", **unlisted}
    changed = run("status", env=env).result["config"]["changed"]
    assert changed == {"recall.limit": 9, "checkpoint.warm_percent": 35}
