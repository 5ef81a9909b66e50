"""`lost --raw`: what a compaction dropped as lines, for an agent, a fraction of the envelope."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run
from terminal import on_terminal, without_style

SHORT = SESSION[:8]


@pytest.fixture
def compacted(run: Run, tmp_path: Path) -> None:
    """A session that was compacted with a summary that knows next to nothing."""
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("Never touch the harbour tables, they are generated from the charts. Find out why the gauge is late")
    for number in range(3):
        made.call(f"r{number}", "Read", file_path=f"{CWD}/src/gauge.py")
        made.outcome(f"r{number}", "     3→def late_by(harbourGauge): return tideTable[harbourGauge]")
    made.call("c", "Bash", command="make check 2>&1")
    made.outcome("c", "Exit code 1\nFAILED test_late: KeyError 'spring'", failed=True)
    made.assistant("We keep the delay in tideTable rather than in the gauge, because the charts read it too.")
    made.write(made.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
    made.write(made.entry("user", "The user looks at something.", isCompactSummary=True))
    made.user("go on")
    run("memory", "archive", str(made.path))


@pytest.mark.usefixtures("compacted")
def test_a_line_an_entry_below_its_kind(run: Run) -> None:
    lines = run("lost", SHORT, "--raw").out.splitlines()
    assert lines[0] == f"lost in compaction 1 of session {SHORT} of gateway"
    assert lines[lines.index("files:") + 1] == "- src/gauge.py"
    named = next(line for line in lines if line.startswith("- src/gauge.py: "))
    assert {"harbourGauge:3", "tideTable:3", "late_by:3"} <= set(named.split())
    assert "- $ make check 2>&1  (failed)" in lines
    assert any(
        line.startswith("- ") and "KeyError 'spring'" in line and line.endswith("(make check 2>&1)") for line in lines
    )
    assert any("Never touch the harbour tables" in line for line in lines)
    assert lines[-1] == f"to bring a name back: joelclaw recall NAME --session {SHORT} --raw"
    assert run("recall", "harbourGauge", "--session", SHORT, "--raw").out


def test_a_person_sees_the_best_of_it_on_a_screen_and_all_where_that_is_wanted(
    run: Run, home: Path, tmp_path: Path
) -> None:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    for number in range(30):
        made.user(f"Rebuild harbour {number} from the charts of its own year, and say which gauges are late by then")
        made.call(f"r{number}", "Read", file_path=f"{CWD}/src/gauge{number}.py")
        made.outcome(f"r{number}", f"     3→def late_by_{number}(harbourGauge{number}): return tideTable{number}")
        made.call(f"c{number}", "Bash", command=f"make check HARBOUR={number} {'OPTION=value ' * 9}2>&1")
        made.outcome(f"c{number}", f"Exit code 1\nFAILED test_late: KeyError '{chr(97 + number)}'", failed=True)
    made.write(made.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
    made.write(made.entry("user", "The user looks at something.", isCompactSummary=True))
    run("memory", "archive", str(made.path))
    rows = without_style(on_terminal(home, "lost").out).splitlines()
    steps = [row for row in rows if row.startswith("→ ")]
    assert len(rows[: rows.index(steps[0])]) <= 25 and len(rows) <= 30
    assert "files, 30 in all:" in rows and "- $ make check HARBOUR=29 OPTION" in "\n".join(rows)
    assert steps[-1] == f"→ joelclaw lost {SHORT} --all  all of it"
    whole = without_style(on_terminal(home, "lost", SHORT, "--all").out)
    assert all(f"- src/gauge{number}.py\n" in whole for number in range(30))
    assert f"make check HARBOUR=7 {'OPTION=value ' * 9}2>&1" in " ".join(whole.split())
    assert run("lost", "--all", "--raw").out.count("OPTION=value " * 9) == 30
