"""`recall` and `recall show` on a terminal of 100 x 30: no word is lost, no row wasted, and the hit stays in sight."""

import re
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import NOW_MS, Run
from terminal import on_terminal, without_style

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
QUERY = ("recall", "why", "does", "the", "harbour", "gauge", "stall")


def archived(run: Run, tmp_path: Path, answer: str, around: int = 6) -> None:
    transcript = Transcript(tmp_path / "work/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    for number in range(around):
        transcript.user(f"chore {number} of the release: " + "tidy the shed and the quay " * 20)
    transcript.user("what about the gauge at night?")
    transcript.assistant(answer)
    for number in range(around):
        transcript.user(f"later chore {number}: " + "paint the shed and the quay " * 20)
    run("memory", "archive", str(transcript.path), env=NOW)


def screen(home: Path, *words: str) -> list[str]:
    out = without_style(on_terminal(home, *words, rows=30, env=NOW).out)
    return [row.rstrip() for row in out.splitlines()]


@pytest.mark.parametrize("length", [1, 12, 80])
def test_a_hit_gets_half_of_the_screen_and_its_neighbours_a_line_each(
    home: Path, run: Run, tmp_path: Path, length: int
) -> None:
    sentences = [f"The harbour gauge does stall, reason {number}." for number in range(length)]
    archived(run, tmp_path, "\n".join(sentences))
    screen(home, *QUERY)
    hits = run("recall", *QUERY[1:], env=NOW).result["hits"]
    number = next(rank for rank, hit in enumerate(hits, 1) if "reason" in hit["observation"])
    rows = screen(home, "recall", "show", str(number))
    assert len(rows) <= 29
    assert len([row for row in rows if ", reason" in row]) == min(length, 15)
    assert next(row for row in rows if row.startswith("▌")).split()[-1] == "agent"
    neighbours = [row for row in rows if "chore" in row]
    assert len(neighbours) >= 3 and all("  prompt  " in row for row in neighbours)
    assert "agent: The harbour gauge" in run("recall", "show", str(number), "--raw", env=NOW).out


def test_a_long_turn_is_shown_around_the_query_s_words(home: Path, run: Run, tmp_path: Path) -> None:
    def printed(name: str) -> str:
        return "\n".join(f"{name} {number} of the shed" for number in range(60))

    archived(run, tmp_path, f"{printed('plank')}\nThe harbour gauge stalls: its fuse is wet.\n{printed('brick')}")
    screen(home, *QUERY)
    hits = run("recall", *QUERY[1:], env=NOW).result["hits"]
    number = next(rank for rank, hit in enumerate(hits, 1) if "its fuse is wet" in hit["observation"])
    for reference in (str(number), hits[number - 1]["id"]):
        out = on_terminal(
            home, "recall", "show", reference, rows=30, env={**NOW, "NO_COLOR": "", "FORCE_COLOR": "1"}
        ).out
        rows = without_style(out).splitlines()
        assert len(rows) <= 29
        at = next(at for at, row in enumerate(rows) if "its fuse is wet" in row)
        assert "plank 59" in rows[at - 1] or "brick 0" in rows[at + 1]
        assert re.findall(r"\x1b\[[0-9;]*m([a-z]+)\x1b\[0m", out.splitlines()[at]) == ["harbour", "gauge", "stalls"]
        assert len([row for row in rows if "prompt" in row and ("chore" in row or "at night" in row)]) >= 4
    # where more was asked for than there is room, the hit is still read
    many = screen(home, "recall", "show", str(number), "--before", "90", "--after", "90")
    assert any("its fuse is wet" in row for row in many)
