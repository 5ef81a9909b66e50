"""`joelclaw lost`: what preceded the last compaction, is absent from its summary, and how to get it back."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from codex_rollout import Rollout
from conftest import Run, put
from hypothesis import given
from hypothesis import strategies as st
from terminal import on_terminal, without_style

from session.lost import recall_command

CODEX = "0199d1b2-7c3e-7a11-b2c3-00000000c0de"
AT = "2026-09-20T10:00:00.000Z"
LEASE = f"{CWD}/src/lease.py"
SUMMARY = (
    "This session is being continued from a previous conversation.\n"
    "The user wants the gateway to retry. Work is in src/renew.py: renewLease is done. `make lint` passes. "
    "The user said: please make the gateway retry when a lease is lost."
)
DECISION = "I chose a jitter of 200 ms instead of a fixed pause because all gateways renewed at once."


def gateway(path: Path) -> Transcript:
    """A session up to its compaction: what its summary tells, and what it does not."""
    transcript = Transcript(path)
    transcript.user("please make the gateway retry when a lease is lost")
    transcript.used("c1", "Read", "     1→def renewLease(): ...", file_path=f"{CWD}/src/renew.py")
    transcript.used("c2", "Read", "     7→LEASE_SECONDS = 30\n     9→def expireLease(now): ...", file_path=LEASE)
    lease = {"old_string": "LEASE_SECONDS = 30", "new_string": "LEASE_SECONDS = 45"}
    transcript.used("c3", "Edit", "The file has been updated.", file_path=LEASE, **lease)
    transcript.used("c4", "Bash", "all good", command=f"cd {CWD} && make lint")
    transcript.user("never raise the lease above a minute: billing needs it")
    transcript.assistant(f"{DECISION} Let me look at the tests.")
    error = "TypeError: expireLease() missing 1 required argument\nmake: *** [test] Error 1"
    transcript.used("c5", "Bash", error, failed=True, command=f"cd {CWD} && make test 2>&1 | tail -5")
    error = "error TS2339: no property 'leaseId' on 'Gateway'\n  at src/gate.ts:14:5 leaseId"
    transcript.used("c6", "Bash", error, failed=True, command="npm run typecheck")
    error = "<tool_use_error>String to replace not found in file.</tool_use_error>"
    transcript.used("c7", "Edit", error, failed=True, file_path=LEASE, old_string="nope", new_string="no")
    transcript.used("c8", "Bash", "ok 48213 c0ffee12", command="npm run typecheck")
    transcript.used("c9", "Bash", "lease.py", command="ls -la src | head -3")
    transcript.user("continue")
    return transcript


@pytest.fixture
def archived(run: Run, tmp_path: Path) -> Path:
    """The session, compacted and archived."""
    path = tmp_path / "transcripts" / f"{SESSION}.jsonl"
    gateway(path).compact(SUMMARY)
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
    ran = {command["command"]: command["outcome"] for command in entries["commands"]}
    assert ran == {"make test 2>&1 | tail -5": "failed", "npm run typecheck": "ok"}
    expected = ("TypeError: expireLease() missing 1 required argument", "make test 2>&1 | tail -5")
    assert [(error["error"], error["doing"]) for error in entries["errors"]] == [expected]
    assert [entry["text"] for entry in entries["words"]] == ["never raise the lease above a minute: billing needs it"]


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
    put(folder / "src" / "lease.py", "# the lease\nLEASE_SECONDS = 45\n")
    path = tmp_path / f"{SESSION}.jsonl"
    gateway(path).compact(SUMMARY)
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
    transcript = Transcript(archived, first=100)
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
    gateway(path).compact()
    run("memory", "archive", str(path))
    result = run("lost").result
    assert not result["compaction"]["summaryKnown"]
    assert {"src/renew.py", "src/lease.py"} == {entry["file"] for entry in result["lost"]["files"]["entries"]}
    assert "summary is not known" in without_style(on_terminal(home, "lost").out)


def codex(run: Run, folder: Path) -> None:
    """Archive a rollout with a compaction, whose history keeps what the user said, and a call of ours: no loss."""
    rollout, prompt = Rollout(folder, CODEX, cwd="/w/pigeon"), "make the pigeons come home by themselves"
    rollout.say("user", prompt)
    rollout.call("a", "src/loft.py:3:flyHome loft_door", cmd="make loft")
    rollout.call("b", "nothing", cmd="joelclaw recall loft --raw")
    remaining = [{"role": "user", "content": prompt}, {"role": "user", "content": "flyHome"}]
    rollout.add("compacted", message="", replacement_history=remaining)
    run("memory", "archive", str(rollout.path))


def test_a_rollout_of_codex(run: Run, tmp_path: Path) -> None:
    codex(run, tmp_path)
    entries = lost(run)
    assert [row["name"] for row in entries["names"]] == ["loft_door"]
    assert [command["command"] for command in entries["commands"]] == ["make loft"]
    assert entries["words"] == []  # its history holds them


def test_the_session_is_chosen_by_argument_environment_or_activity(run: Run, archived: Path, tmp_path: Path) -> None:
    codex(run, tmp_path)

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


def test_without_an_id_it_is_the_projects_last_compacted(run: Run, archived: Path, tmp_path: Path, home: Path) -> None:
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
        transcript.used(f"r{number}", "Read", "     3→def late", file_path=f"{CWD}/src/gauge{number}.py")
    transcript.compact("The user looks at something.")
    run("memory", "archive", str(transcript.path))
    rows = without_style(on_terminal(home, "lost").out).splitlines()
    assert "files, 8 of 30:" in rows and rows[-1] == f"→ joelclaw lost {SHORT} --all  all of it"
    assert run("lost", SHORT, "--kind", "errors", "--raw").out.splitlines()[1:] == ["no errors were dropped"]
    everything = without_style(on_terminal(home, "lost", SHORT, "--all").out)
    assert all(f"- src/gauge{number}.py\n" in everything for number in range(30))
