"""`joelclaw lost`: what preceded the last compaction, is absent from its summary, and how to get it back."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st
from terminal import on_terminal, without_style

from session.lost import recall_command

CODEX = "0199d1b2-7c3e-7a11-b2c3-00000000c0de"
AT = "2026-09-20T10:00:00.000Z"
LEASE = f"{CWD}/src/lease.py"
SUMMARY = (
    "The user wants the gateway to retry. Work is in src/renew.py: renewLease is done. `make lint` passes. "
    "The user said: please make the gateway retry when a lease is lost."
)
DECISION = "I chose a jitter of 200 ms instead of a fixed pause because all gateways renewed at once."


class Compacted(Transcript):
    """A transcript of Claude Code that can be compacted."""

    def compact(self, summary: str = SUMMARY) -> None:
        """The boundary and, if any, the summary, as the client writes them."""
        self.write(self.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
        if summary:
            text = f"This session is being continued from a previous conversation.\n{summary}"
            self.write(self.entry("user", text, isCompactSummary=True, isVisibleInTranscriptOnly=True))


def gateway(path: Path) -> Compacted:
    """A session up to its compaction: what its summary tells, and what it does not."""
    transcript = Compacted(path)
    transcript.user("please make the gateway retry when a lease is lost")
    transcript.used("c1", "Read", "     1→def renewLease(): ...", file_path=f"{CWD}/src/renew.py")
    transcript.used("c2", "Read", "     7→LEASE_SECONDS = 30\n     9→def expireLease(now): ...", file_path=LEASE)
    transcript.call("c3", "Edit", file_path=LEASE, old_string="LEASE_SECONDS = 30", new_string="LEASE_SECONDS = 45")
    transcript.outcome("c3", "The file has been updated.")
    transcript.used("c4", "Bash", "all good", command=f"cd {CWD} && make lint")
    transcript.user("never raise the lease above a minute, billing depends on it")
    transcript.assistant(f"{DECISION} Let me look at the tests.")
    transcript.call("c5", "Bash", command=f"cd {CWD} && make test 2>&1 | tail -5")
    transcript.outcome(
        "c5", "TypeError: expireLease() missing 1 required argument\nmake: *** [test] Error 1", failed=True
    )
    transcript.call("c6", "Bash", command="npm run typecheck")
    transcript.outcome(
        "c6", "error TS2339: no property 'leaseId' on 'Gateway'\n  at src/gate.ts:14:5 leaseId", failed=True
    )
    transcript.call("c7", "Edit", file_path=LEASE, old_string="nope", new_string="no")
    transcript.outcome("c7", "<tool_use_error>String to replace not found in file.</tool_use_error>", failed=True)
    transcript.used("c8", "Bash", "ok 48213 c0ffee12", command="npm run typecheck")
    transcript.used("c9", "Bash", "lease.py", command="ls -la src | head -3")
    transcript.user("continue")
    return transcript


@pytest.fixture
def archived(run: Run, tmp_path: Path) -> Path:
    """The session, compacted and archived."""
    path = tmp_path / "transcripts" / f"{SESSION}.jsonl"
    transcript = gateway(path)
    transcript.compact()
    run("memory", "archive", str(path))
    return path


def lost(run: Run, *words: str, **env: str) -> dict[str, Any]:
    result = run("lost", *words, env=env).result
    return {kind: part["entries"] for kind, part in result["lost"].items()}


def test_what_the_summary_lacks_by_kind(run: Run, archived: Path) -> None:
    result = run("lost").result
    assert (result["session"], result["client"], result["project"]) == (SESSION, "claude", "gateway")
    about = result["compaction"]
    assert (about["number"], about["callsBefore"]) == (1, 9)
    assert about["summaryKnown"]
    assert list(result["lost"]) == ["files", "names", "commands", "errors", "words"]
    entries = {kind: part["entries"] for kind, part in result["lost"].items()}
    (file,) = entries["files"]
    assert file["file"] == "src/lease.py"
    names = {row["name"]: row["place"] for row in entries["names"]}
    assert names == {"LEASE_SECONDS": "src/lease.py:7", "expireLease": "src/lease.py:9", "leaseId": "src/gate.ts:14"}
    assert {(command["command"], command["outcome"]) for command in entries["commands"]} == {
        ("make test 2>&1 | tail -5", "failed"),
        ("npm run typecheck", "ok"),
    }
    assert [(error["error"], error["doing"]) for error in entries["errors"]] == [
        ("TypeError: expireLease() missing 1 required argument", "make test 2>&1 | tail -5")
    ]
    assert [entry["text"] for entry in entries["words"]] == [
        "never raise the lease above a minute, billing depends on it"
    ]


def test_noise_is_not_listed(run: Run, archived: Path) -> None:
    shown = run("lost", "--limit", "1000").out
    for noise in ("48213", "c0ffee12", "ls -la", '"continue"', "tool_use_error", "Let me look", "renewLease"):
        assert noise not in shown


def test_each_entrys_command_retrieves_it(run: Run, archived: Path) -> None:
    for kind, entries in lost(run).items():
        assert entries
        for entry in entries:
            program, *words = shlex.split(entry["get"])
            assert program == "joelclaw"
            assert run(*words).json["ok"], (kind, entry["get"])
    sentence = lost(run)["words"][0]
    assert sentence["text"] in run(*shlex.split(sentence["get"])[1:]).out


def test_names_have_their_current_place(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "gateway"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lease.py").write_text("# the lease\nLEASE_SECONDS = 45\n")
    path = tmp_path / f"{SESSION}.jsonl"
    gateway(path).compact()
    path.write_text(path.read_text().replace(CWD, str(folder)))
    run("memory", "archive", str(path))
    assert [(row["name"], row["place"]) for row in lost(run)["names"]] == [("LEASE_SECONDS", "src/lease.py:2")]


def test_recovered_entries_come_last(run: Run, archived: Path) -> None:
    before = lost(run)
    assert before["names"][0]["name"] == "LEASE_SECONDS"
    transcript = Transcript(archived, first=100)
    transcript.used("d1", "Bash", "LEASE_SECONDS", command="npm run typecheck")
    transcript.used("d2", "Bash", "ok", command="make test")
    run("memory", "archive", str(archived))
    after = lost(run)
    assert {row["name"]: row["again"] for row in after["names"]}["LEASE_SECONDS"]
    assert after["names"][-1]["name"] == "LEASE_SECONDS"
    assert after["errors"] == []
    assert all(command["again"] for command in after["commands"])


def test_the_latest_compaction_counts(run: Run, archived: Path) -> None:
    transcript = Compacted(archived, first=100)
    transcript.user("now write the changelog entry of the release")
    transcript.compact("Only the lease matters: LEASE_SECONDS, expireLease.")
    run("memory", "archive", str(archived))
    assert "now write the changelog entry of the release" in [entry["text"] for entry in lost(run)["words"]]
    transcript.used("e1", "Read", "## 1.0", file_path=f"{CWD}/CHANGELOG.md")
    transcript.compact("Only the lease matters: LEASE_SECONDS, expireLease.")
    run("memory", "archive", str(archived))
    result = run("lost").result
    assert result["compaction"]["number"] == 2
    names = {entry["name"] for entry in result["lost"]["names"]["entries"]}
    assert "renewLease" in names
    assert not names & {"LEASE_SECONDS", "expireLease"}


def test_without_a_summary_everything_counts(run: Run, tmp_path: Path, home: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    gateway(path).compact("")
    run("memory", "archive", str(path))
    result = run("lost").result
    assert not result["compaction"]["summaryKnown"]
    assert {"src/renew.py", "src/lease.py"} == {entry["file"] for entry in result["lost"]["files"]["entries"]}
    assert "summary is not known" in without_style(on_terminal(home, "lost").out)


OWN = '{"cmd": "joelclaw recall loft --raw"}'
"""A call of ours, which is nothing to be lost."""


def codex(path: Path) -> None:
    """A rollout with a compaction, whose history keeps what the user said."""

    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": AT, "payload": payload}

    def message(role: str, text: str) -> dict[str, Any]:
        part = "output_text" if role == "assistant" else "input_text"
        return line("response_item", type="message", role=role, content=[{"type": part, "text": text}])

    prompt = "make the pigeons come home by themselves"
    entries = [
        line("session_meta", id=CODEX, cwd="/w/pigeon"),
        message("user", prompt),
        line("response_item", type="function_call", name="exec_command", call_id="a", arguments='{"cmd": "make loft"}'),
        line("response_item", type="function_call_output", call_id="a", output="src/loft.py:3:flyHome loft_door"),
        line("response_item", type="function_call", name="exec_command", call_id="b", arguments=OWN),
        line("response_item", type="function_call_output", call_id="b", output="nothing"),
        line(
            "compacted",
            message="",
            replacement_history=[{"role": "user", "content": prompt}, {"role": "user", "content": "flyHome"}],
        ),
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_a_rollout_of_codex(run: Run, tmp_path: Path) -> None:
    codex(tmp_path / f"rollout-{CODEX}.jsonl")
    run("memory", "archive", str(tmp_path / f"rollout-{CODEX}.jsonl"))
    entries = lost(run)
    assert [row["name"] for row in entries["names"]] == ["loft_door"]
    assert [command["command"] for command in entries["commands"]] == ["make loft"]
    assert entries["words"] == []  # its history holds them


def test_the_session_is_chosen_by_argument_environment_or_activity(run: Run, archived: Path, tmp_path: Path) -> None:
    codex(tmp_path / f"rollout-{CODEX}.jsonl")
    run("memory", "archive", str(tmp_path / f"rollout-{CODEX}.jsonl"))

    def meant(*words: str, **env: str) -> str:
        return run("lost", *words, env=env).result["session"]

    assert meant() == SESSION  # did something last, though it was archived first
    assert meant(CODEX) == meant(CODEX[:4]) == CODEX
    assert meant(JOELCLAW_SESSION_ID=CODEX) == CODEX
    assert meant(SESSION, JOELCLAW_SESSION_ID=CODEX) == SESSION
    for variable in ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"):
        assert meant(**{variable: CODEX}) == CODEX
        assert meant(SESSION, **{variable: CODEX}) == meant(JOELCLAW_SESSION_ID=SESSION, **{variable: CODEX}) == SESSION
        assert meant(**{variable: "of-no-archive"}) == SESSION
    refused = run("lost", env={"JOELCLAW_SESSION_ID": "of-no-archive"}, ok=False).json
    assert refused["error"]["code"] == "SESSION_NOT_FOUND", "who names it asks for it alone"


def test_without_an_id_it_is_the_session_compacted_last_in_this_project(
    run: Run, archived: Path, tmp_path: Path, home: Path
) -> None:
    def meant(folder: Path) -> tuple[str, str]:
        result = run("lost", cwd=folder).result
        return result["session"], result["chosen"]

    here, elsewhere = tmp_path / "u" / Path(CWD).name, tmp_path / "elsewhere"
    here.mkdir(parents=True)
    elsewhere.mkdir()
    other = archived.with_name(f"{CODEX}.jsonl")
    text = archived.read_text().replace(SESSION, CODEX).replace(CWD, str(elsewhere)).replace('"u-', '"v-')
    other.write_text(text.replace(AT[:10], "2026-09-21"))  # a day later
    quiet = Transcript(archived.with_name("quiet.jsonl"))
    later = {"sessionId": "quiet", "cwd": str(elsewhere), "timestamp": "2026-09-23T10:00:00.000Z"}
    quiet.write({**quiet.entry("user", "what is a lease in this gateway"), **later})
    quiet.write({**quiet.entry("assistant", "a promise that ends"), **later})
    run("memory", "archive", str(other), str(quiet.path))
    assert meant(here) == (SESSION, "project")
    assert meant(elsewhere) == (CODEX, "project")
    assert meant(tmp_path)[1] == "last"
    assert run("lost", CODEX).result["chosen"] == "given"
    assert "project has no such session" in without_style(on_terminal(home, "lost").out)


@pytest.mark.parametrize("words", [("--kind", "thoughts"), ("--limit", "0"), ("a", "b")])
def test_wrong_usage(run: Run, words: tuple[str, ...]) -> None:
    refused = run("lost", *words, ok=False)
    assert (refused.code, refused.json["error"]["code"]) == (2, "LOST_INVALID_ARGS")
    assert refused.json["fix"]


@given(st.text(max_size=200), st.text(min_size=1, max_size=40))
def test_a_printed_command_is_a_single_line_with_the_name(name: str, session: str) -> None:
    printed = recall_command(name, session)
    words = shlex.split(printed)
    assert [*words[1:2], *words[3:]] == ["recall", "--session", session, "--limit", "3"]
    assert len(words[2]) <= 80
    assert not words[2].startswith("-")
    assert words[2].isprintable()


SHORT = SESSION[:8]


def test_entries_are_listed_below_their_kind(run: Run, archived: Path) -> None:
    lines = run("lost", SHORT, "--raw").out.splitlines()
    assert lines[0] == f"lost in compaction 1 of session {SHORT} of gateway"
    assert lines[lines.index("files:") + 1].startswith("- src/lease.py")
    named = next(line for line in lines if line.startswith("- src/lease.py: "))
    assert {"LEASE_SECONDS:7", "expireLease:9"} <= set(named.split())
    assert "- $ make test 2>&1 | tail -5  (failed)" in lines
    assert any("expireLease() missing" in line and line.endswith("(make test 2>&1 | tail -5)") for line in lines)
    assert any("never raise the lease" in line for line in lines)
    assert lines[-1] == f"to bring a name back: joelclaw recall NAME --session {SHORT} --raw"
    assert run("recall", "expireLease", "--session", SHORT, "--raw").out


def test_a_terminal_shows_some_of_each_kind_and_all_on_request(run: Run, home: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    for number in range(30):
        transcript.user(f"Rebuild harbour {number} from the charts of its own year")
        transcript.call(f"r{number}", "Read", file_path=f"{CWD}/src/gauge{number}.py")
        transcript.outcome(f"r{number}", "     3→def late")
    transcript.write(transcript.entry("system", "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
    transcript.write(transcript.entry("user", "The user looks at something.", isCompactSummary=True))
    run("memory", "archive", str(transcript.path))
    rows = without_style(on_terminal(home, "lost").out).splitlines()
    assert "files, 8 of 30:" in rows and rows[-1] == f"→ joelclaw lost {SHORT} --all  all of it"
    everything = without_style(on_terminal(home, "lost", SHORT, "--all").out)
    assert all(f"- src/gauge{number}.py\n" in everything for number in range(30))
