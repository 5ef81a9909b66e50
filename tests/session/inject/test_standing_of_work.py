"""Where the work in a folder stands: the `briefing` of a repository."""

from pathlib import Path

from conftest import JOELCLAW, Run
from test_session_start_work import BEGAN_MS, HOUR, TASK, worked

NOW = {"JOELCLAW_NOW_MS": str(BEGAN_MS + 3 * HOUR)}


def test_a_repository_has_a_heading_and_its_memories(run: Run, tmp_path: Path) -> None:
    repo = tmp_path / "tides"
    (repo / ".git").mkdir(parents=True)
    run("memory", "archive", str(worked(tmp_path, "before", cwd=str(repo))))
    for at, text in enumerate(("The tide tables are cached for a day", "The gauge at the north quay reports in feet")):
        env = {"JOELCLAW_NOW_MS": str(BEGAN_MS + at * HOUR)}
        run("memory", "write", text, "--project", "tides", env=env)
    run("memory", "write", "The other repository has a gauge in metres", "--project", "elsewhere", env=NOW)
    result = run("briefing", "--repo", str(repo / "."), env=NOW).result
    assert (result["repo"], result["budget"], result["ranking"]) == (str(repo), 10, "recency")
    assert TASK in result["heading"]["active_arc"]
    assert "Failing:" in result["heading"]["frontier"]
    assert result["heading"]["since_last_session"] == "1 sessions, the last on 2026-09-20"
    assert [entry["title"] for entry in result["entries"]] == [
        "The gauge at the north quay reports in feet", "The tide tables are cached for a day",
    ]  # fmt: skip
    shown = run(*result["entries"][0]["pointer"].split()[1:]).result
    assert "north quay" in shown["entries"][0]["text"]
    assert len(run("briefing", "--repo", str(repo), "-n", "1", env=NOW).result["entries"]) == 1
    text = run("briefing", "--repo", str(repo), "--format", "text", env=NOW).out
    assert text.startswith("<joelclaw-memory ")
    assert "# tides\n" in text
    assert "1. The gauge at the north quay reports in feet (" in text
    assert f"({JOELCLAW} show " in run("briefing", "--repo", str(repo), "--format", "text", env={**NOW, "PATH": ""}).out
