"""Recall of a time without a subject, and dates that a person types: they are days of the user's time zone."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from claude_transcript import Transcript
from conftest import Run

TOKYO, BERLIN = "Asia/Tokyo", "Europe/Berlin"


def at(zone: str, *parts: int) -> int:
    return int(datetime(*parts, tzinfo=ZoneInfo(zone)).timestamp() * 1000)  # type: ignore[misc,arg-type]


def said(run: Run, *facts: tuple[str, int], **more: object) -> None:
    lines = [
        {"id": text.replace(" ", "-"), "collection": "episodes", "text": f"user: {text}", "created_at": when, **more}
        for text, when in facts
    ]
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def days(run: Run) -> dict[str, str]:
    """Prompts of three days, the last of them today; returns the environment that freezes the time."""
    said(
        run,
        ("rename the merlin column", at("UTC", 2026, 9, 1, 10)),
        ("rename the osprey column", at("UTC", 2026, 9, 12, 10)),
        ("rename the saker column", at("UTC", 2026, 9, 21, 8)),
    )
    return {"JOELCLAW_NOW_MS": str(at("UTC", 2026, 9, 21, 15)), "TZ": "UTC"}


@pytest.mark.parametrize(("words", "found"), [
    (["--since", "yesterday"], "saker"),
    (["--since", "2026-09-10"], "saker osprey"),
    (["--until", "2026-09-12"], "osprey merlin"),
    (["--since", "2026-09-12", "--until", "2026-09-12"], "osprey"),
    (["--since", "12 September", "--until", "12 September"], "osprey"),
    (["--since", "2026-09-13", "--until", "2026-09-14"], ""),
    (["", "--since", "yesterday"], "saker"),
    (["what", "did", "I", "ask", "--since", "2026-09-10"], "saker osprey"),
    (["what did I ask on 2026-09-01"], "merlin"),
    (["what did I say on 12 September 2026?"], "osprey"), (["was habe ich am 12.9.2026 gefragt"], "osprey"),
    (["what did I ask on 9/21/2026"], "saker"),
    (["what happened on September 1st"], "merlin"),
    (["what were we working on 9 days ago"], "osprey"), (["what did we do a week ago"], "osprey"),
    (["what did we do one week ago"], "osprey"),
    (["what did we talk about today"], "saker"),
    (["what did I ask this month", "--until", "2026-09-05"], "merlin"),
    (["what did I ask on 2026-09-02"], ""), (["was habe ich am 2026-09-12 gefragt?"], "osprey"),
    (["我在2026年9月12日问了什么"], "osprey"),
    (["what did I ask this Monday"], "saker"), (["what did I ask last Monday"], ""),
    (["which column did we rename on 2026-09-12"], "osprey saker merlin"),
    (["column", "--since", "2026-09-10"], "saker osprey"),
    (["column", "--since", "36h"], "saker"), (["column", "--since", "2w"], "saker osprey"),
    (["column", "--until", "2w"], "merlin"), (["--since", "1mo", "--until", "7d"], "osprey merlin"),
    (["column", "--until", "1mo"], ""), (["--since", "2y"], "saker osprey merlin"),
])  # fmt: skip
def test_what_was_said_at_a_time_is_found(run: Run, days: dict[str, str], words: list[str], found: str) -> None:
    hits = run("recall", *words, env=days).result["hits"]
    names = [hit["observation"].split()[3] for hit in hits]
    assert (names if len(names) < 2 else sorted(names)) == sorted(found.split()), "newest first without a subject"
    if "column" not in words:
        assert names == found.split()
    raw = run("recall", "--raw", *words, env=days).out.splitlines()
    assert len(raw) == len(names)


def test_a_number_is_a_subject(run: Run, days: dict[str, str]) -> None:
    assert run("recall", "4711", "--since", "2026-09-01", env=days).result["count"] == 0


def test_prompts_and_answers_come_before_steps_and_this_project_before_others(run: Run, tmp_path: Path) -> None:
    here = tmp_path / "gateway"  # as the folder in the transcript
    (here / ".git").mkdir(parents=True)
    written = Transcript(tmp_path / "t/5a3e7c11-2222-4333-8444-555566667777.jsonl")
    written.user("please read the tide table")
    for number in range(6):
        written.assistant(f"Step {number} of reading it.")
        written.used(f"c{number}", "Bash", "low, high", command=f"cat tide{number}.txt")
    written.assistant("The table says: high at noon.")
    run("memory", "archive", str(written.path))
    said(run, ("paint the lighthouse", at("UTC", 2026, 9, 21, 8)), project="lighthouse")
    hits = run("recall", "--since", "2026-01-01", "--limit", "3", cwd=here).result["hits"]
    assert [hit["observation"] for hit in hits] == [
        "agent: The table says: high at noon.", "prompt: please read the tide table", "prompt: paint the lighthouse",
    ]  # fmt: skip


def test_without_words_and_without_a_time_there_is_no_query(run: Run) -> None:
    assert run("recall", ok=False).json["error"]["message"] == "no query was given"


# Days of the user's time zone


def ledgers(run: Run, merlin: int, osprey: int) -> None:
    said(run, ("empty the merlin ledger", merlin), ("empty the osprey ledger", osprey))


@pytest.mark.parametrize("typed", ["today", "2026-09-22", "2026-09-22T00:00", "22 September 2026", "2026-09-21T15:00Z"])
def test_a_day_is_local(run: Run, typed: str) -> None:
    """At 00:30 in Tokyo it is still the day before in UTC."""
    ledgers(run, at(TOKYO, 2026, 9, 22, 0, 5), at(TOKYO, 2026, 9, 21, 23))
    here = {"JOELCLAW_NOW_MS": str(at(TOKYO, 2026, 9, 22, 0, 30)), "TZ": TOKYO}
    for words in (["ledger", "--since", typed], ["--since", typed]):
        assert [hit["id"] for hit in run("recall", *words, env=here).result["hits"]] == ["empty-the-merlin-ledger"]
    if typed != "2026-09-21T15:00Z":
        before = run("recall", "ledger", "--until", "2026-09-21", env=here).result["hits"]
        assert [hit["id"] for hit in before] == ["empty-the-osprey-ledger"]


def test_a_day_of_summer_time_is_local_in_winter(run: Run) -> None:
    ledgers(run, at(BERLIN, 2026, 7, 8, 0, 10), at(BERLIN, 2026, 7, 7, 23, 50))
    here = {"JOELCLAW_NOW_MS": str(at(BERLIN, 2026, 12, 1, 12)), "TZ": BERLIN}
    for words in (["--since", "2026-07-08"], ["--since", "8 July"], ["what did I ask on 8 July"]):
        assert [hit["id"] for hit in run("recall", *words, env=here).result["hits"]] == ["empty-the-merlin-ledger"]


def test_events_and_purge_take_local_days(run: Run) -> None:
    here = {"JOELCLAW_NOW_MS": str(at(TOKYO, 2026, 9, 22, 0, 30)), "TZ": TOKYO}
    for minutes in (5, -30):
        when = at(TOKYO, 2026, 9, 22) + minutes * 60_000
        run("otel", "emit", f"event.at{minutes}", "--timestamp", str(when), env=here)
    shown = run("otel", "list", "--since", "2026-09-22", "--source", "cli", "--component", "otel-cli", env=here).result
    assert [event["action"] for event in shown["events"]] == ["event.at5"]
    ledgers(run, at(TOKYO, 2026, 9, 22, 0, 5), at(TOKYO, 2026, 9, 21, 23))
    purged = run("memory", "purge", "--before", "2026-09-22", "--dry-run", env=here).result
    assert purged["ids"] == ["empty-the-osprey-ledger"]


@pytest.mark.parametrize("name", ["June", "may"])
def test_a_month_by_itself_is_searched_for_as_a_name(run: Run, days: dict[str, str], name: str) -> None:
    run("memory", "write", f"{name} Harper owns the release of the harbour app", env=days)
    assert "owns the release" in run("recall", name, "--raw", env=days).out
