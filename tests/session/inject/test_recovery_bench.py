"""`make recovery-bench`: what a compaction lost and what comes back, on made-up sessions with figures counted by hand.

The command that is measured is a stand-in with fixed answers, which notes how it was called; the last test takes the
real one.
"""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT
from pi_session import PiSession, call

BENCH = ROOT / "bench"
sys.path.append(str(BENCH))

from recovery_baselines import _fitting, ranked  # noqa: E402
from recovery_session import Session, identifiers  # noqa: E402
from recovery_together import is_noise  # noqa: E402

SUMMARY = "We renew the lease in lease.py; retry_limit is kept. Ran git status."
SIGNPOST = """## Where it stands
- src/lease.py: renewLease, max_skew, otherName
More: `joelclaw recall "grace"` or `joelclaw recall "check"` or `recall "edge"`"""
ANSWERS = {
    "grace": "graceWindow stands in docs/clock-skew.md",
    "check": "$ make check-lease",
    "edge": "edge_case",
    "renewLease": "src/lease.py: renewLease",
    "LeaseHolder": "nothing of that",
    "edge_case": "edge_case = 3",
}
STAND_IN = """#!{python} -IS
import json, os, sys
signpost, answers, started, prompted, log = json.loads({given!r})
def note(**about):
    about["home"] = os.environ["HOME"]
    about["mode"] = oct(os.stat(os.environ["HOME"]).st_mode & 0o777)
    about["now"] = os.environ["JOELCLAW_NOW_MS"]
    with open(log, "a") as file:
        file.write(json.dumps(about) + "\\n")
if sys.argv[1] == "recall":
    print("you asked for " + sys.argv[2])
    print(answers.get(sys.argv[2], "nothing"))
    raise SystemExit
payload = json.load(sys.stdin)
event = payload.get("hook_event_name") or sys.argv[3]
written = open(payload["transcript_path"]).read().splitlines()
note(event=event, payload=payload, lines=len(written), argv=sys.argv[1:])
text = ""
if payload.get("source") == "compact" or event == "after_compaction":
    text = signpost
elif event in ("SessionStart", "session_start"):
    text = started
elif event in ("UserPromptSubmit", "BeforeAgent", "prompt"):
    text = prompted
if sys.argv[2] == "pi":
    print(json.dumps({{"messages": [{{"customType": "x", "content": text}}] if text else []}}))
elif text:
    print(json.dumps({{"hookSpecificOutput": {{"hookEventName": event, "additionalContext": text}}}}))
"""


class Bench:
    """The bench, and the stand-in for the command that it measures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.out = folder / "figures.json"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.path = f"{folder / 'bin'}:/usr/bin:/bin"
        self.stand_in()

    def stand_in(self, started: str = "", prompted: str = "") -> None:
        given = json.dumps([SIGNPOST, ANSWERS, started, prompted, str(self.log)])
        self.script("joelclaw", STAND_IN.format(python=sys.executable, given=given))

    def script(self, name: str, text: str) -> Path:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o700)
        return path

    def words(self, *words: str) -> list[str]:
        command = ["--command", str(self.folder / "bin" / "joelclaw")] if "--command" not in words else []
        return [sys.executable, str(BENCH / "recovery.py"), *words, "--json", str(self.out), *command]

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("JOELCLAW")}
        return {**kept, "PATH": self.path, "TMPDIR": str(self.temporary), "HOME": str(self.folder / "own")}

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.words(*words), capture_output=True, text=True, env=self.environment, timeout=PATIENCE_S
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert not list(self.temporary.iterdir()), "homes are left behind"
        return done

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out.read_text())
        return found

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, subprocess.CompletedProcess[str]]:
    """The bench after it has measured `compacted`, and what it printed."""
    bench = Bench(tmp_path_factory.mktemp("measured"))
    return bench, bench.run("--from", str(compacted(bench.folder / "a.jsonl").path))


def compacted(path: Path, *, calls_after: int = 41) -> Transcript:
    """A session of Claude Code with one compaction; below it is counted by hand what was needed after it."""
    made = Transcript(path, session=SESSION)
    number = 0

    def used(name: str, result: str, **given: str) -> None:
        nonlocal number
        number += 1
        made.call(f"c{number}", name, **given)
        made.outcome(f"c{number}", result)

    docs, lease = "/home/u/gateway/docs/clock-skew.md", "/home/u/gateway/src/lease.py"
    made.user("Renew the lease earlier, and mind clock skew.")
    used("Read", "def renewLease(holder: LeaseHolder, retry_limit, max_skew)", file_path=lease)
    used("Bash", "ok", command="make check-lease")
    used("Read", "graceWindow fooBar edge_case", file_path=docs)
    used("Bash", "clean", command="git status")
    made.assistant("I have read it.")
    made.write(
        made.entry("system", "") | {"subtype": "compact_boundary", "compactMetadata": {"postTokens": 900}},
        made.entry("user", SUMMARY, isCompactSummary=True),
    )
    made.user("Go on with graceWindow.")
    used("Edit", "edited clock-skew.md, see renewLease", file_path=docs, new_string="graceWindow = 3")  # 1
    used("Grep", "src/lease.py: LeaseHolder retry_limit brandNew", pattern="renewLease")  # 2
    used("Bash", "edge_case fooBar", command="make check-lease")  # 3
    used("Bash", "clean", command="git status")  # 4: in the summary
    used("Edit", "done", file_path=lease, new_string="LeaseHolder brandNew retry_limit")  # 5
    used("Bash", "", command="echo max_skew")  # 6: it never came back
    for _ in range(min(calls_after, 39) - 6):
        used("Bash", "", command="true")
    if calls_after > 39:
        used("Bash", "", command="echo edge_case")  # 40: the last that counts
        used("Bash", "", command="echo fooBar")  # 41
    made.assistant("All done.")
    return made


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_an_identifier() -> None:
    assert identifiers("renewLease LeaseHolder max_skew MAX_SKEW clock-skew.md src/a.py lease HTTP x.bin") == {
        *("renewLease", "LeaseHolder", "max_skew", "MAX_SKEW", "clock-skew.md", "a.py")
    }


def test_needed_is_what_stood_before_is_not_kept_came_back_and_was_used_in_the_next_40_calls(tmp_path: Path) -> None:
    session = Session(compacted(tmp_path / "a.jsonl").path)
    (place,) = session.measurable
    needed = session.needed(place)
    assert needed.names == {"graceWindow", "renewLease", "LeaseHolder", "edge_case"}
    assert needed.commands == {"make check-lease"}
    assert needed.files == {"clock-skew.md"}
    assert session.kept(place) == SUMMARY


@pytest.mark.parametrize(("calls", "measured"), [(29, 0), (30, 1)])
def test_a_compaction_counts_from_30_calls_after_it(tmp_path: Path, calls: int, measured: int) -> None:
    session = Session(compacted(tmp_path / "a.jsonl", calls_after=calls).path)
    assert len(session.compactions) == 1
    assert len(session.measurable) == measured


def test_a_command_of_200_characters_is_no_command_to_be_run_again(tmp_path: Path) -> None:
    made = Transcript(tmp_path / "a.jsonl", session=SESSION)
    texts = ["echo " + "x" * 194, "echo " + "x" * 195]
    for part in range(2):
        for number, text in enumerate(texts):
            made.call(f"{part}{number}", "Bash", command=text)
        if not part:
            made.write(made.entry("system", "") | {"subtype": "compact_boundary"})
            made.write(made.entry("user", "kept", isCompactSummary=True))
    session = Session(made.path)
    assert session.needed(session.compactions[0]).commands == {texts[0]}


def test_the_figures_of_a_session_are_those_counted_by_hand(
    measured: tuple[Bench, subprocess.CompletedProcess[str]],
) -> None:
    bench, done = measured
    ours = bench.figures["systems"]["joelclaw"]
    assert ours == {
        "chars": len(SIGNPOST),
        # renewLease alone; with the answers also graceWindow and edge_case
        "names_needed": 4,
        "names_view": 1,
        "names_away": 3,
        "commands_needed": 1,
        "commands_view": 0,
        "commands_away": 1,
        "files_needed": 1,
        "files_view": 0,
        "files_away": 1,
        # lease.py, renewLease, max_skew; otherName was not used
        "shown": 4,
        "shown_used": 3,
        # the third lacks the program's name: it does not run, and its answer counts
        "queries": 3,
        "queries_run": 2,
        "answer_chars": sum(len(f"you asked for {q}\n{ANSWERS[q]}\n") for q in ("grace", "check", "edge")),
        # renewLease and edge_case; what only repeats the question is no answer
        "asked": 4,
        "found": 2,
        "found_chars": sum(len(ANSWERS[q]) for q in ("renewLease", "LeaseHolder", "edge_case")),
    }
    assert bench.figures["counts"]["faults"] == 0
    (row,) = bench.figures["rows"]
    assert (row["session"], row["client"], row["at"]) == (SESSION, "claude", 10)
    # clock-skew.md graceWindow renewLease lease.py LeaseHolder retry_limit max_skew edge_case; brandNew was new
    assert row["used_next_known"] == 8
    summary = bench.figures["systems"]["summary alone"]
    assert (summary["shown"], summary["shown_used"], summary["names_view"]) == (2, 2, 0)
    assert summary["chars"] == len(SUMMARY)
    listed = bench.figures["systems"]["plain list, 700 + 6,000"]
    # clock-skew.md edge_case fooBar graceWindow LeaseHolder max_skew renewLease: all but fooBar were used
    assert (listed["names_view"], listed["shown"], listed["shown_used"]) == (4, 7, 6)
    assert "0.250 (1 of 4)" in done.stdout and "0.750 (3 of 4)" in done.stdout
    assert "1/1 a.jsonl: 1 compactions" in done.stderr
    assert "no `deja` on PATH" in done.stdout


def test_claude_code_is_replayed_in_the_order_of_its_events(
    measured: tuple[Bench, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    bench, _ = measured
    events = [one["event"] for one in bench.calls]
    assert events[:2] == ["SessionStart", "UserPromptSubmit"]
    assert events[2:] == [
        *["PostToolUse"] * 4,
        *("Stop", "PreCompact", "SubagentStop", "SessionStart", "PostCompact"),
    ]
    stop, pre, summariser, start, post = bench.calls[6:11]
    assert stop["lines"] == 10  # a prompt, four calls with their results, a text
    for one in (pre, summariser, start, post):  # boundary and summary are written after them
        assert one["lines"] == 10
    assert SUMMARY in summariser["payload"]["last_assistant_message"]
    assert start["payload"]["source"] == "compact"
    assert SUMMARY in post["payload"]["compact_summary"]
    tool = bench.calls[2]
    assert tool["payload"]["tool_name"] == "Read" and tool["payload"]["tool_use_id"] == "c1"
    assert tool["payload"]["tool_input"] == {"file_path": "/home/u/gateway/src/lease.py"}
    assert tool["lines"] == 3  # its result is there
    assert tool["now"] == "1789898403000"  # 2026-09-20T10:00:03Z, the line's own time
    assert {one["mode"] for one in bench.calls} == {"0o700"}
    assert str(bench.folder / "own") not in {one["home"] for one in bench.calls}
    assert {one["payload"]["session_id"] for one in bench.calls} == {SESSION}
    # the transcript itself is as it was, and what grows is a copy
    own = bench.folder / "a.jsonl"
    assert own.read_bytes() == compacted(tmp_path / "a.jsonl").path.read_bytes()
    assert str(own) not in {one["payload"]["transcript_path"] for one in bench.calls}


def codex(path: Path) -> Path:
    def line(kind: str, **payload: Any) -> str:
        return json.dumps({"timestamp": "2026-09-20T10:00:00.000Z", "type": kind, "payload": payload}) + "\n"

    def used(number: int) -> str:
        given = json.dumps({"cmd": f"echo old_name {number}"})
        return line(
            "response_item", type="function_call", name="exec_command", call_id=f"c{number}", arguments=given
        ) + line("response_item", type="function_call_output", call_id=f"c{number}", output="old_name")

    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]}
    path.write_text(
        line("session_meta", id="codex-1", cwd="/w")
        + line("response_item", **said)
        + used(0)
        + line("compacted", message="what was done", replacement_history=[])
        + "".join(used(number) for number in range(1, 31))
    )
    return path


def pi(path: Path) -> Path:
    made = PiSession(path)
    made.user("go on")
    for number in range(31):
        made.answer("", call(f"c{number}", "bash", command=f"echo old_name {number}"), stop="toolUse", tokens=1000)
        made.result(f"c{number}", "old_name")
        if not number:
            made.compaction(made.user("keptHere stays"))
    return path


def gemini(path: Path) -> Path:
    def used(number: int) -> dict[str, Any]:
        result = [{"functionResponse": {"response": {"output": "old_name"}}}]
        tool = {"id": f"c{number}", "name": "run_shell_command", "args": {"command": "echo old_name"}, "result": result}
        return {"id": f"m{number}", "type": "gemini", "content": "", "toolCalls": [tool]}

    snapshot = {"id": "s", "content": [{"text": "<state_snapshot>what was done</state_snapshot>"}]}
    rows = [
        {"sessionId": "gemini-1", "projectHash": "p", "timestamp": "2026-09-20T10:00:00.000Z"},
        {"id": "u0", "type": "user", "content": [{"text": "go on"}]},
        used(0),
        {"$set": {"messages": [snapshot]}},
        {"id": "u1", "type": "user", "content": [{"text": "go on again"}]},
        *(used(number) for number in range(1, 31)),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("write", "events", "kept"),
    [
        (
            codex,
            ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "SessionStart"],
            "what was done",
        ),
        (
            pi,
            ["session_start", "prompt", "tool", "prompt", "before_compaction", "after_compaction"],
            "what was done\nkeptHere stays",
        ),
        (gemini, ["SessionStart", "BeforeAgent", "AfterTool", "BeforeAgent"], "what was done"),
    ],
)
def test_the_other_clients_are_replayed_in_their_order(
    bench: Bench, write: Callable[[Path], Path], events: list[str], kept: str
) -> None:
    path = write(bench.folder / "a.jsonl")
    session = Session(path)
    assert kept in session.kept(session.compactions[0])
    bench.stand_in(prompted=SIGNPOST if write is gemini else "")
    bench.run("--from", str(path))
    called = [one["event"] for one in bench.calls]
    assert called[: len(events)] == events
    (row,) = bench.figures["rows"]
    assert row["systems"]["joelclaw"]["chars"] == len(SIGNPOST)
    assert row["systems"]["joelclaw"]["names_needed"] == 1  # old_name


def test_pi_keeps_messages_word_for_word_and_they_are_not_lost(tmp_path: Path) -> None:
    made = PiSession(tmp_path / "a.jsonl")
    made.user("lostName")
    kept = made.user("keptName")
    made.compaction(kept)
    made.user("lostName keptName")
    made.answer("", call("c", "bash", command="echo lostName keptName"))
    session = Session(made.path)
    assert session.needed(session.compactions[0]).names == {"lostName"}


def test_the_plain_list_is_by_count_and_recency_and_is_cut_by_characters(tmp_path: Path) -> None:
    made = Transcript(tmp_path / "a.jsonl", session=SESSION)
    for number, text in enumerate(["oftenOnce", "oftenOnce", "oftenOnce", "lateName"]):
        made.call(f"c{number}", "Bash", command=f"echo {text}")
    made.user("keptName")
    made.write(made.entry("system", "") | {"subtype": "compact_boundary"})
    made.write(made.entry("user", "keptName", isCompactSummary=True))
    session = Session(made.path)
    # log(4) · 3/4 = 1.04 before log(2) · 4/4 = .69
    assert ranked(session, session.compactions[0]) == ["oftenOnce", "lateName"]
    assert _fitting(["abcd", "efgh"], 10) == ["abcd", "efgh"]
    assert _fitting(["abcd", "efgh"], 9) == ["abcd"]


def test_deja_is_asked_for_the_same_names_where_it_is_on_path(bench: Bench) -> None:
    path = compacted(bench.folder / "a.jsonl").path
    asked = bench.folder / "asked"
    bench.script(
        "deja",
        f"""#!/bin/sh
echo "$1 $2" >> {asked}
own="$HOME/.claude/projects/-work/{SESSION}.jsonl"
case "$1" in
  index) grep -c compact_boundary "$own" >> {asked} ;;
  hook-context) echo "LeaseHolder fooBar" ;;
  search) echo "1 session: $2 stood in it"; [ "$2" = edge_case ] && echo "edge_case = 3" ;;
esac
""",
    )
    done = bench.run("--from", str(path))
    peer = bench.figures["systems"]["deja-vu"]
    assert (peer["names_view"], peer["shown"], peer["shown_used"]) == (1, 2, 1)
    assert (peer["asked"], peer["found"]) == (4, 1)
    words = asked.read_text().split("\n")
    assert words[:4] == ["index ", "0", "hook-precompact ", "hook-context --plain"]  # 0: as it was before
    assert {word.split()[1] for word in words if word.startswith("search")} == {
        *("zqNoSuchName", "graceWindow", "renewLease", "LeaseHolder", "edge_case")
    }
    assert "deja-vu" in done.stdout and "no `deja` on PATH" not in done.stdout


def other_project(path: Path) -> Path:
    """A session of another project, a day later."""
    made = Transcript(path)
    rows = [
        made.entry("user", "Please translate the shop's front page into Portuguese today."),
        made.entry("user", "x"),
    ]
    for row in rows:
        row |= {"sessionId": "b", "cwd": "/home/u/shop", "timestamp": "2026-09-21T10:00:00.000Z"}
    made.write(*rows)
    return path


def test_together_counts_noise_and_lines_of_other_projects(bench: Bench) -> None:
    compacted(bench.folder / "in" / "z.jsonl")
    other_project(bench.folder / "in" / "a.jsonl")
    started = (
        "- user: Please translate the shop's front page into Portuguese\n- assistant: Now let me see renewLease\nx"
    )
    bench.stand_in(started=started)
    done = bench.run("--from", str(bench.folder / "in"), "--together")
    total = bench.figures["together"]
    assert (total["sessions"], total["faults"]) == (2, 0)
    # two starts with two memory lines each; the first is foreign in gateway and at home in shop
    assert [total[f"start_{what}"] for what in ("texts", "lines", "noise", "foreign")] == [2, 4, 2, 1]
    # renewLease is not among the next 40 calls of the shop; in gateway it is
    assert (total["start_shown"], total["start_used"]) == (2, 1)
    assert total["recovery_texts"] == 1 and total["later_texts"] == 0
    assert len({one["home"] for one in bench.calls}) == 1
    sessions = list(dict.fromkeys(one["payload"]["session_id"] for one in bench.calls))
    assert sessions == [SESSION, "b"]  # the oldest first, whatever its file's name
    assert "2 sessions" in done.stdout


@pytest.mark.parametrize(
    ("line", "noise"),
    [
        ("- assistant: Now let me look", True),
        ("1. $ make check", True),
        ("- Read 1→defmodule", True),
        ("- [2026-09-20] assistant: Perfect! All 7 pass", True),
        ("- user: never rename a public name", False),
        ("- The lease is renewed every 10 s", False),
        ("Now let me look", False),
    ],
)
def test_what_is_a_line_of_noise(line: str, noise: bool) -> None:
    assert is_noise(line) is noise


@pytest.mark.parametrize(("split", "files"), [("even", ["a.jsonl", "c.jsonl.xz"]), ("odd", ["b.jsonl"])])
def test_a_split_takes_every_second_file_and_packed_ones_are_read(bench: Bench, split: str, files: list[str]) -> None:
    folder = bench.folder / "in"
    folder.mkdir()
    for name in ("a", "b", "c"):
        codex(folder / f"{name}.jsonl")
    (folder / "c.jsonl.xz").write_bytes(lzma.compress((folder / "c.jsonl").read_bytes()))
    (folder / "c.jsonl").unlink()
    (folder / "notes.txt").write_text("no transcript")
    bench.run("--from", str(folder), "--split", split)
    assert [row["file"] for row in bench.figures["rows"]] == files


def test_sessions_limits_how_many_are_replayed(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        codex(bench.folder / f"{name}.jsonl")
    (bench.folder / "0.jsonl").write_text('{"hello": 1}\n')
    done = bench.run("--from", str(bench.folder), "--sessions", "1")
    assert [row["file"] for row in bench.figures["rows"]] == ["a.jsonl"]
    assert "left out" in done.stderr and "0.jsonl" in done.stderr


def test_where_nothing_can_be_measured_it_says_so_with_a_way_out(bench: Bench) -> None:
    path = compacted(bench.folder / "a.jsonl", calls_after=20).path
    done = bench.run("--from", str(path), code=1)
    assert "no compaction can be measured in 1 files (1 sessions, 1 compactions)" in done.stderr
    assert "fix: " in done.stderr and "~/.claude/projects" in done.stderr
    assert not done.stdout and not bench.out.exists()


def test_a_place_that_is_not_there_is_a_usage_error(bench: Bench) -> None:
    done = bench.run("--from", str(bench.folder / "gone"), code=2)
    assert "there is no" in done.stderr and "fix: " in done.stderr


def test_a_hook_that_fails_is_a_fault_and_the_figures_come_all_the_same(bench: Bench) -> None:
    path = compacted(bench.folder / "a.jsonl").path
    bench.script("joelclaw", "#!/bin/sh\necho oops >&2; exit 3\n")
    done = bench.run("--from", str(path))
    assert bench.figures["counts"]["faults"] == bench.figures["counts"]["hooks"] == 11
    assert bench.figures["systems"]["joelclaw"]["names_view"] == 0
    assert "fault: a.jsonl: PreCompact: 3 oops" in done.stderr


def test_an_interrupt_ends_it_and_leaves_nothing_behind(bench: Bench) -> None:
    path = compacted(bench.folder / "a.jsonl").path
    process = subprocess.Popen(
        bench.words("--from", str(path)),
        env=bench.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + PATIENCE_S
    while not bench.log.exists() and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "interrupted" in err and "Traceback" not in err
    assert not out and not bench.out.exists()
    assert not list(bench.temporary.iterdir())


def test_the_real_command_is_measured_without_a_fault(bench: Bench) -> None:
    path = compacted(bench.folder / "a.jsonl").path
    bench.path = "/usr/bin:/bin"
    bench.run("--from", str(path), "--command", JOELCLAW)
    counts = bench.figures["counts"]
    # until the compaction: start, prompt, 4 tools, stop, and the four of the compaction
    assert (counts["hooks"], counts["faults"]) == (11, 0)
    (row,) = bench.figures["rows"]
    assert 0 < row["systems"]["joelclaw"]["chars"] <= 1300
    assert not (bench.folder / "own").exists()
