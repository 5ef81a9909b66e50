"""`recall show` on a terminal: what the hit says about the query, highlighted, between its neighbours."""

import re
from pathlib import Path

from claude_transcript import Transcript
from conftest import NOW, Run
from terminal import on_terminal, without_style

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


def test_a_hit_is_shown_around_the_query_s_words_and_its_neighbours_in_a_line_each(
    home: Path, run: Run, tmp_path: Path
) -> None:
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
        assert len(rows) <= 60 and next(row for row in rows if row.startswith("▌")).split()[-1] == "agent"
        at = next(at for at, row in enumerate(rows) if "its fuse is wet" in row)
        assert re.findall(r"\x1b\[[0-9;]*m([a-z]+)\x1b\[0m", out.splitlines()[at])[:2] == ["harbour", "gauge"]
        neighbours = [row for row in rows if "chore" in row]
        assert len(neighbours) >= 3 and all("  prompt  " in row for row in neighbours)
    assert "agent: plank 0" in run("recall", "show", str(number), "--raw", env=NOW).out
