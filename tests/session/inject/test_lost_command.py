"""`joelclaw lost`: what stood before the last compaction and is absent from its summary, and how to get it back."""

from __future__ import annotations

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

from session.lost import talk
from session.lost.entry import by_id, by_name
from session.lost.shell_command import is_worth_running, key_of, steps, worth_of
from session.lost.told import Told
from session.lost.work import Work, is_telling

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
            told = f"This session is being continued from a previous conversation.\n{summary}"
            self.write(self.entry("user", told, isCompactSummary=True, isVisibleInTranscriptOnly=True))


def gateway(path: Path) -> Compacted:
    """A session up to its compaction: what its summary tells, and what it does not."""
    made = Compacted(path)
    made.user("please make the gateway retry when a lease is lost")
    made.call("c1", "Read", file_path=f"{CWD}/src/renew.py")
    made.outcome("c1", "def renewLease(): ...")
    made.call("c2", "Read", file_path=LEASE)
    made.outcome("c2", "LEASE_SECONDS = 30\ndef expireLease(now): ...")
    made.call("c3", "Edit", file_path=LEASE, old_string="LEASE_SECONDS = 30", new_string="LEASE_SECONDS = 45")
    made.outcome("c3", "The file has been updated.")
    made.call("c4", "Bash", command=f"cd {CWD} && make lint")
    made.outcome("c4", "all good")
    made.user("never raise the lease above a minute, billing depends on it")
    made.assistant(f"{DECISION} Let me look at the tests.")
    made.call("c5", "Bash", command=f"cd {CWD} && make test 2>&1 | tail -5")
    made.outcome("c5", "TypeError: expireLease() missing 1 required argument\nmake: *** [test] Error 1", failed=True)
    made.call("c6", "Bash", command="npm run typecheck")
    made.outcome("c6", "error TS2339: no property 'leaseId' on 'Gateway'", failed=True)
    made.call("c7", "Edit", file_path=LEASE, old_string="nope", new_string="no")
    made.outcome("c7", "<tool_use_error>String to replace not found in file.</tool_use_error>", failed=True)
    made.call("c8", "Bash", command="npm run typecheck")
    made.outcome("c8", "ok 48213 c0ffee12")
    made.call("c9", "Bash", command="ls -la src | head -3")
    made.outcome("c9", "lease.py")
    made.user("continue")
    return made


@pytest.fixture
def archived(run: Run, tmp_path: Path) -> Path:
    """The session, compacted and archived."""
    path = tmp_path / "transcripts" / f"{SESSION}.jsonl"
    made = gateway(path)
    made.compact()
    run("memory", "archive", str(path))
    return path


def lost(run: Run, *words: str, **env: str) -> dict[str, Any]:
    result = run("lost", *words, env=env).result
    return {kind: part["entries"] for kind, part in result["lost"].items()}


def test_what_the_summary_lacks_by_kind(run: Run, archived: Path) -> None:
    result = run("lost").result
    assert (result["session"], result["client"], result["project"]) == (SESSION, "claude", "gateway")
    about = result["compaction"]
    assert (about["number"], about["callsBefore"], about["promptsBefore"]) == (1, 9, 3)
    assert about["summaryKnown"]
    assert list(result["lost"]) == ["files", "names", "commands", "errors", "words", "decisions"]
    found = {kind: part["entries"] for kind, part in result["lost"].items()}
    (file,) = found["files"]
    assert (file["file"], file["reads"], file["edits"], file["promptsBefore"]) == ("src/lease.py", 1, 2, 1)
    names = {one["name"]: one["place"] for one in found["names"]}
    assert names["LEASE_SECONDS"] == names["expireLease"] == "src/lease.py"
    assert names["leaseId"] == "npm run"
    assert {(one["command"], one["outcome"], one["runs"]) for one in found["commands"]} == {
        ("make test 2>&1 | tail -5", "failed", 1),
        ("npm run typecheck", "ok", 2),
    }
    assert [(one["error"], one["doing"], one["answered"]) for one in found["errors"]] == [
        ("TypeError: expireLease() missing 1 required argument", "make test 2>&1 | tail -5", False),
        ("error TS2339: no property 'leaseId' on 'Gateway'", "npm run typecheck", True),
    ]
    assert [one["text"] for one in found["words"]] == ["never raise the lease above a minute, billing depends on it"]
    assert [(one["by"], one["text"]) for one in found["decisions"]] == [("assistant", DECISION)]


def test_nobody_is_shown_noise(run: Run, archived: Path) -> None:
    shown = run("lost", "--limit", "1000").out
    for noise in ("48213", "c0ffee12", "ls -la", '"continue"', "tool_use_error", "Let me look", "renewLease"):
        assert noise not in shown


def test_each_entry_comes_back_by_its_command(run: Run, archived: Path) -> None:
    for kind, entries in lost(run).items():
        assert entries
        for one in entries:
            program, *words = shlex.split(one["get"])
            assert program == "joelclaw"
            assert run(*words).json["ok"], (kind, one["get"])
    said = lost(run)["words"][0]
    assert said["text"] in run(*shlex.split(said["get"])[1:]).out


def test_one_kind_and_a_limit(run: Run, archived: Path) -> None:
    result = run("lost", "--kind", "names", "--kind", "files", "--limit", "2").result["lost"]
    assert list(result) == ["files", "names"]
    assert len(result["names"]["entries"]) == 2 < result["names"]["count"]


def test_what_came_back_since_stands_behind(run: Run, archived: Path) -> None:
    before = lost(run)
    assert before["names"][0]["name"] == "LEASE_SECONDS"
    made = Transcript(archived, first=100)
    made.call("d1", "Bash", command="npm run typecheck")
    made.outcome("d1", "LEASE_SECONDS")
    made.call("d2", "Bash", command="make test")
    made.outcome("d2", "ok")
    run("memory", "archive", str(archived))
    after = lost(run)
    assert {one["name"]: one["again"] for one in after["names"]}["LEASE_SECONDS"]
    assert after["names"][-1]["name"] == "LEASE_SECONDS"
    assert all(one["answered"] for one in after["errors"])
    assert all(one["again"] for one in after["commands"])


def test_a_second_compaction_is_the_last(run: Run, archived: Path) -> None:
    made = Compacted(archived, first=100)
    made.user("now write the changelog entry of the release")
    made.compact("Only the lease matters: LEASE_SECONDS, expireLease.")
    run("memory", "archive", str(archived))
    assert "now write the changelog entry of the release" in [one["text"] for one in lost(run)["words"]]
    made.call("e1", "Read", file_path=f"{CWD}/CHANGELOG.md")
    made.outcome("e1", "## 1.0")
    made.compact("Only the lease matters: LEASE_SECONDS, expireLease.")
    run("memory", "archive", str(archived))
    result = run("lost").result
    assert result["compaction"]["number"] == 2
    names = {one["name"] for one in result["lost"]["names"]["entries"]}
    assert "renewLease" in names
    assert not names & {"LEASE_SECONDS", "expireLease"}


def test_without_a_summary_everything_counts(run: Run, tmp_path: Path, home: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    gateway(path).compact("")
    run("memory", "archive", str(path))
    result = run("lost").result
    assert not result["compaction"]["summaryKnown"]
    assert {"src/renew.py", "src/lease.py"} == {one["file"] for one in result["lost"]["files"]["entries"]}
    assert "summary is not known" in without_style(on_terminal(home, "lost").out)


def codex(path: Path) -> None:
    """A rollout with a compaction, whose history keeps what the user said."""

    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": AT, "payload": payload}

    def message(role: str, text: str) -> dict[str, Any]:
        part = "output_text" if role == "assistant" else "input_text"
        return line("response_item", type="message", role=role, content=[{"type": part, "text": text}])

    asked = "make the pigeons come home by themselves"
    entries = [
        line("session_meta", id=CODEX, cwd="/w/pigeon"),
        message("user", asked),
        line("response_item", type="function_call", name="exec_command", call_id="a", arguments='{"cmd": "make loft"}'),
        line("response_item", type="function_call_output", call_id="a", output="flyHome loft_door"),
        line(
            "compacted",
            message="",
            replacement_history=[{"role": "user", "content": asked}, {"role": "user", "content": "flyHome"}],
        ),
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_a_rollout_of_codex(run: Run, tmp_path: Path) -> None:
    codex(tmp_path / f"rollout-{CODEX}.jsonl")
    run("memory", "archive", str(tmp_path / f"rollout-{CODEX}.jsonl"))
    found = lost(run)
    assert [one["name"] for one in found["names"]] == ["loft_door"]
    assert [one["command"] for one in found["commands"]] == ["make loft"]
    assert found["words"] == []  # its history holds them


def test_which_session_is_meant(run: Run, archived: Path, tmp_path: Path) -> None:
    codex(tmp_path / f"rollout-{CODEX}.jsonl")
    run("memory", "archive", str(tmp_path / f"rollout-{CODEX}.jsonl"))

    def meant(*words: str, **env: str) -> str:
        session: str = run("lost", *words, env=env).result["session"]
        return session

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


def test_a_session_around_that_was_not_compacted_has_lost_nothing(run: Run, archived: Path) -> None:
    whole = Transcript(archived.with_name("whole.jsonl"))
    whole.user("what is a lease in this gateway")
    whole.call("c1", "Read", file_path=f"{CWD}/lease.py")
    whole.outcome("c1", "a promise that ends")
    run("memory", "archive", str(whole.path))
    refused = run("lost", env={"CLAUDE_CODE_SESSION_ID": "whole"}, ok=False).json
    assert refused["error"]["code"] == "NO_COMPACTION"
    assert f"joelclaw lost {SESSION}" in refused["fix"]


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
    assert "this folder's project" in without_style(on_terminal(home, "lost").out)


def test_the_beginning_of_two_sessions(run: Run, archived: Path) -> None:
    other = archived.with_name(f"{SESSION[:-4]}aaaa.jsonl")
    other.write_text(archived.read_text().replace(SESSION, SESSION[:-4] + "aaaa").replace('"u-', '"v-'))
    run("memory", "archive", str(other))
    refused = run("lost", SESSION[:6], ok=False).json
    assert refused["error"]["code"] == "SESSION_AMBIGUOUS"
    assert SESSION in refused["error"]["message"]
    assert refused["fix"]


def test_nothing_is_archived(run: Run, archived: Path, home: Path) -> None:
    refused = run("lost", "nobody", ok=False).json
    assert (refused["error"]["code"], "joelclaw memory archive" in refused["fix"]) == ("SESSION_NOT_FOUND", True)
    refused = run("lost", env={"JOELCLAW_HOME": str(home / "empty")}, ok=False).json
    assert (refused["error"]["code"], "memory archive --all" in refused["fix"]) == ("SESSION_NOT_FOUND", True)


def test_a_session_that_was_not_compacted(run: Run, archived: Path) -> None:
    other = Transcript(archived.with_name("quiet.jsonl"))
    other.write({**other.entry("user", "what is a lease in this gateway"), "sessionId": "quiet"})
    run("memory", "archive", str(other.path))
    refused = run("lost", "quiet", ok=False).json
    assert refused["error"]["code"] == "NO_COMPACTION"
    assert run(*shlex.split(refused["fix"].partition("joelclaw ")[2])).result["session"] == SESSION


def test_a_session_of_which_only_the_messages_are_archived(run: Run, archived: Path, home: Path) -> None:
    """As an older joelclaw left it; its transcript can be read again."""
    import apsw

    db = apsw.Connection(str(home / "store.db"))
    for table in ("session", "call", "name", "compaction"):
        db.execute(f"DELETE FROM {table}")
    db.execute("UPDATE transcript SET head = ''; DELETE FROM seen_file")
    db.close()
    refused = run("lost", SESSION[:8], ok=False).json
    assert refused["error"]["code"] == "CALLS_NOT_ARCHIVED"
    run(*shlex.split(refused["fix"].partition("joelclaw ")[2]))
    assert lost(run, SESSION)["names"]


@pytest.mark.parametrize("words", [("--kind", "thoughts"), ("--limit", "0"), ("a", "b")])
def test_wrong_usage(run: Run, words: tuple[str, ...]) -> None:
    refused = run("lost", *words, ok=False)
    assert (refused.code, refused.json["error"]["code"]) == (2, "LOST_INVALID_ARGS")
    assert refused.json["fix"]


@pytest.mark.spawned
def test_on_a_terminal(run: Run, tmp_path: Path, home: Path) -> None:
    made = gateway(tmp_path / f"{SESSION}.jsonl")
    made.user("the title \x1b]0;owned\x07 must stay \x1b[2J as it is \u202e in the log")
    made.compact()
    run("memory", "archive", str(made.path))
    shown = on_terminal(home, "lost", SESSION[:5], columns=100)
    text = without_style(shown.out)
    assert (shown.code, shown.err) == (0, "")
    assert all(kind in text for kind in ("files", "names", "commands", "errors", "words", "decisions"))
    assert f'→ joelclaw recall "src/lease.py" --session {SESSION} --limit 3' in text
    assert "edited 2×, read 1×" in text
    assert "owned" in text
    assert not any(sign in text for sign in ("\x1b", "\x07", "\u202e"))


def test_secrets_stay_out(run: Run, tmp_path: Path) -> None:
    made = gateway(tmp_path / f"{SESSION}.jsonl")
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    made.user(f"the deploy of the gateway reads the token {secret} from its environment")
    made.call("s", "Bash", command=f"GITHUB_TOKEN={secret} make deploy")
    made.outcome("s", "ok")
    made.compact()
    run("memory", "archive", str(made.path))
    assert secret not in run("lost", "--limit", "1000").out


@given(st.text(max_size=200), st.text(min_size=1, max_size=40))
def test_a_printed_command_is_one_line_and_names_what_it_asks_for(name: str, session: str) -> None:
    printed = by_name(name, session)
    words = shlex.split(printed)
    assert [*words[1:2], *words[3:]] == ["recall", "--session", session, "--limit", "3"]
    assert len(words[2]) <= 80
    assert not words[2].startswith("-")
    assert words[2].isprintable()


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cd /w && go test ./... 2>&1 | tail -5", {"go test ./...": True}),
        ('rg "a|b; make" src', {}),
        ("git commit -m 'x'", {"git commit": False}),
        ("git status && make", {"make": True}),
        ("rm -rf build", {"rm -rf build": False}),
        ("FOO=1 sudo make install", {"make install": True}),
        ("bd create --help", {"bd create --help": False}),
        ("BASE=$(git merge-base main HEAD) && echo $BASE", {}),
        ("git -C /w status", {}),
        ("gh api repos/o/r/replies -f body=done", {"gh api repos/o/r/replies -f body=done": False}),
        ("make -f other.mk", {"make -f other.mk": True}),
        ("for f in *; do cat $f; done", {}),
        ("", {}),
    ],
)
def test_the_steps_of_a_command(command: str, wanted: dict[str, bool]) -> None:
    assert steps(command) == wanted


@pytest.mark.parametrize(
    ("command", "again", "worth", "key"),
    [
        ("make " + "x" * 195, True, 4.0, "make " + "x" * 195),
        ("make " + "x" * 196, False, 4.0, "make " + "x" * 196),
        ("run a\nrun b", False, 1.0, "run a && run b"),
        ("cat <<E", False, 1.0, ""),
        ("python -c x", False, 1.0, "python -c x"),
        ("npm test; ls", True, 4.0, "npm test"),
        ("curl -d x y", False, 1.0, "curl -d x y"),
        ("curl y", True, 1.0, "curl y"),
        ("npm run add", False, 1.0, "npm run add"),
        ("npm a b c add", True, 1.0, "npm a b c add"),
        ("/usr/bin/make all", True, 4.0, "/usr/bin/make all"),
        ("git -C web push", False, 1.0, "git push"),
        ("sudo env go run all", True, 1.0, "go run all"),
        ("gh run view --json x", True, 1.0, "gh run view"),
        ("go run 'a && b' && go vet", True, 4.0, "go run 'a && b' && go vet"),
        ("for f in *; do go run it; done", True, 1.0, "go run it"),
    ],
)
def test_which_commands_may_be_wanted_again(command: str, again: bool, worth: float, key: str) -> None:
    assert (is_worth_running(command), worth_of(command), key_of(command)) == (again, worth, key)


TOLD = Told(
    "The lease is in src/renew.py and web/lease.py. `make lint` passes: LEASE_SECONDS stays at 45. "
    "We never raise it since billing depends on it",
    frozenset({"lease.py"}),
)


def test_what_a_summary_tells() -> None:
    files = ["src/renew.py", "renew.py", "lib/renew.py", "web/lease.py", "lease.py", "src/lease.py", "make.py"]
    assert [TOLD.file(file) for file in files] == [True] * 5 + [False] * 2
    assert [TOLD.name(name) for name in ("LEASE_SECONDS", "renew.py", "SECONDS")] == [True, True, False]
    assert [TOLD.line(line) for line in ("LEASE_SECONDS  stays\nat 45", "make lint passes")] == [True, False]


@pytest.mark.parametrize(
    ("sentence", "share"),
    [
        ("Billing depends on it", 1.0),
        ("never raise billing depends", 1.0),
        ("raise billing zebra kiwi", 0.5),
        ("raise billing make lint", 0.5),  # one sentence must have them
        ("raise zebra", 0.0),  # of two words nothing can be told
        ("zebra giraffe kiwi", 0.0),
        ("", 1.0),
    ],
)
def test_which_share_of_a_sentence_a_summary_has(sentence: str, share: float) -> None:
    assert TOLD.share(sentence) == share


@pytest.mark.parametrize(
    ("said", "decides"),
    [
        ("We chose a jitter because they all renew", True),
        ("We chose a jitter because they all rene", False),
        ("We chose a jitter because " + "x" * 294, True),
        ("We chose a jitter because " + "x" * 295, False),
        ("- **We chose a jitter because all of them renewed.**", True),
        ("Let me use a jitter because all gateways renewed at once.", False),
        ("Okay, now I’ll use a jitter because all gateways renewed.", False),
        ("Shall we choose a jitter because all gateways renewed at once?", False),
        ("We chose a jitter because all gateways renewed at once:", False),
        ("We chose a jitter and all gateways renewed at once.", False),
        ("A jitter because all gateways renewed at this very one.", False),
        ("if (jitter) { use(it) } // because all gateways renewed at once;", False),
    ],
)
def test_which_sentences_decide_something_and_say_why(said: str, decides: bool) -> None:
    assert bool(talk.decisions_in(said)) is decides
    assert bool(talk.decisions_in(f"It is done.\n{said}\nAll is well.")) is decides


def test_a_sentence_that_decides_nothing_hides_none_behind_it() -> None:
    decided = "We chose a jitter because all gateways renewed at once."
    assert talk.decisions_in(f"Which one? Let me look at each gateway, because that says it. {decided}") == [decided]


def test_only_what_the_user_and_the_agent_said_is_said() -> None:
    rows = [("1", "user: go on"), ("2", "tool: ls"), ("3", "assistant: done"), ("4", "user:  "), ("5", "user: thanks")]
    assert [(one.id, one.by, one.text, one.prompt) for one in talk.said_in(rows)] == [
        ("1", "user", "go on", 1), ("3", "assistant", "done", 1), ("5", "user", "thanks", 3),
    ]  # fmt: skip


def test_code_decides_nothing() -> None:
    chosen = "We chose a pause because all gateways renewed."
    fenced = "```\nWe chose a jitter because all of them renewed.\n```"
    assert talk.decisions_in(f"{fenced}\n{chosen}\n{fenced}") == [chosen]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 299 + "…"),
        ("word " * 80, "word " * 59 + "word…"),
        ("a" * 298 + ", " + "b" * 9, "a" * 298 + "…"),
        ("two\n  lines", "two lines"),
    ],
)
def test_what_was_said_is_one_line_and_cut_between_words(text: str, shown: str) -> None:
    assert talk.cut(text) == shown


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("leaseTable", True),
        ("nLeaseTable", True),
        ("nLease", False),  # of `\\nLease`
        ("tWord", False),
        ("a1b2c3d4e5", False),
        ("test1Abc2def", True),
        ("lease_1234", True),
        ("lease_12345", False),
        ("abc.py", True),
        ("ab.py", False),
        ("x-ABCD1234.js", False),
        ("x-ABCDEFGH.js", True),
        ("chunk-0a1b2c3d-4e5f-x", False),
        ("_test.go", False),
        ("my_test.go", True),
        ("id_7f", True),
        ("i_7", False),
    ],
)
def test_which_names_say_something_by_themselves(name: str, telling: bool) -> None:
    assert is_telling(name) is telling


def call(number: int, tool: str = "Bash", command: str = "", file: str = "", **more: Any) -> Any:
    return {
        "session": "s", "number": number, "key": str(number), "prompt": number, "at": None, "tool": tool, "file": file,
        "command": command, "outcome": "ok", "error": "", "passage": "", **more,
    }  # fmt: skip


def worked(*before: Any, after: tuple[Any, ...] = (), names: tuple[Any, ...] = (), folder: str = "/w") -> Work:
    return Work(
        session="s", folder=folder, told=Told(""), before=before, after=after, names=names, call=len(before), prompts=9
    )


def test_edits_weigh_three_reads_and_files_fade() -> None:
    read, edit = [call(n, "Read", file="read.py") for n in (1, 2)], call(3, "MultiEdit", file="edited.py")
    found = worked(*read, edit).files()
    assert [(one.file, one.reads, one.edits) for one in found] == [("edited.py", 0, 1), ("read.py", 2, 0)]
    assert [(one.calls_before, one.prompts_before, one.again) for one in found] == [(0, 6, False), (1, 7, False)]
    many = [call(n, "Read", file="read.py") for n in (2, 3, 4, 5)]
    assert [one.file for one in worked(call(1, "Write", file="edited.py"), *many).files()] == ["read.py", "edited.py"]
    long_ago = [call(n, file="other.py" if n > 1 else "old.py") for n in range(1, 81)]
    assert [one.file for one in worked(*long_ago).files()] == ["other.py", "old.py"]
    again = worked(edit, call(4, "Read", file="b.py"), after=(call(5, "Read", file="edited.py"),)).files()
    assert [(one.file, one.again) for one in again] == [("b.py", False), ("edited.py", True)]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("pytest tests/test_a.py", "tests/test_a.py"),
        ("pytest /w/tests/test_a.py", "tests/test_a.py"),
        ("pytest ./tests/test_a.py", "tests/test_a.py"),
        ("pytest test_a.py", ""),
        ("git add tests/test_a.py", ""),
        ("make tests/{a,b}.py", ""),
    ],
)
def test_the_file_that_a_command_names_was_read(command: str, file: str) -> None:
    found = worked(call(1, command=command)).files()
    assert [(one.file, one.reads, one.edits) for one in found] == ([(file, 1, 0)] if file else [])
    assert worked(call(1, command=command, outcome="failed")).files() == []


def named(name: str, *, first: int = 1, last: int = 2, uses: int = 1, weight: float = 1.0, place: str = "a.py") -> Any:
    return {"name": name, "first": first, "last": last, "calls": uses, "weight": weight, "place": place, "written": 0}


def test_names_by_their_fading_weight_and_those_that_came_back_last() -> None:
    before = [call(number) for number in range(1, 42)]
    names = (
        named("oldLease", weight=2.0, last=1),
        named("newLease", weight=1.0, last=41),
        named("backLease", weight=9.0, last=43),
        named("laterLease", first=42, last=42, weight=9.0),
        named("in_progress", weight=9.0, last=41),
        named("nnewLease", weight=9.0, last=41),
        named("Bash", weight=9.0, last=41),
    )
    found = worked(*before, after=(call(42), call(43)), names=names).found_names()
    assert [(one.name, one.calls_before, one.again) for one in found] == [
        ("newLease", 0, False),
        ("oldLease", 40, False),
        ("backLease", 0, True),
    ]
    assert [one.prompts_before for one in found] == [0, 8, 0]


def test_of_names_that_always_come_together_two_weigh_in_full() -> None:
    fields = tuple(named(f"field_{letter}xyz", weight=6.0) for letter in "abc")
    other = named("otherName", uses=5, weight=5.0)
    found = worked(call(1), call(2), names=(*fields, other)).found_names()
    assert [one.name for one in found] == ["field_axyz", "field_bxyz", "otherName", "field_cxyz"]


def test_the_place_of_a_name_is_not_its_own_file() -> None:
    names = (named("src/lease.py", place="/w/src/lease.py"), named("lease.py", place="./src/lease.py", weight=0.5))
    assert [(one.name, one.place) for one in worked(call(1), call(2), names=names).found_names()] == [
        ("src/lease.py", "src/lease.py"),
        ("lease.py", ""),
    ]


def test_commands_as_they_were_run_last_checks_before_the_rest() -> None:
    runs = [
        call(1, command="cd /w && npm run dev"),
        call(2, command="npm run dev"),
        call(3, command="make test 2>&1 | tail", outcome="failed", error="E: it   broke"),
        call(4, command='cd "/w" && go run it', outcome="failed", error="command timed out"),
    ]
    found = worked(*runs, after=(call(5, command="npm run dev"),)).commands()
    assert [(one.command, one.runs, one.outcome, one.error, one.again) for one in found] == [
        ("make test 2>&1 | tail", 1, "failed", "E: it broke", False),
        ("go run it", 1, "failed", "", False),
        ("npm run dev", 2, "ok", "", True),
    ]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("TypeError: x", "TypeError: x"),
        ("x" * 300, "x" * 200),
        ("[test] FAIL: x", "[test] FAIL: x"),
        ("[test] ERROR task failed", ""),
        ("<tool_use_error>x", ""),
        ("12│ code", ""),
        ("12 | code", ""),
        ("12 files failed", "12 files failed"),
    ],
)
def test_which_errors_tell_of_the_work(error: str, shown: str) -> None:
    found = worked(call(1, "Edit", file="a.py", outcome="failed", error=error)).errors()
    assert [(one.error, one.doing) for one in found] == ([(shown, "Edit a.py")] if shown else [])


def test_errors_that_no_success_has_answered_stand_first_and_each_once() -> None:
    def failed(number: int, command: str, error: str) -> Any:
        return call(number, command=command, outcome="failed", error=error)

    found = worked(
        failed(1, "make test", "E: 3 of 7 failed"),
        failed(2, "make lint", "E: a line is long"),
        failed(3, "make test", "E: 2 of 9 failed"),
        call(4, command="make lint"),
        failed(5, "ls gone", "ls: cannot access gone"),
        failed(6, "make docs", "E: no page"),
        after=(call(7, command="make docs && make all"),),
    ).errors()
    assert [(one.error, one.answered, one.calls_before) for one in found] == [
        ("E: 2 of 9 failed", False, 3),
        ("E: no page", True, 0),
        ("E: a line is long", True, 4),
    ]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("a  b\nc", '"a b c"'),
        ("--x", '"x"'),
        ("- x y", '"x y"'),
        ('a"b', "'a\"b'"),
        ("$x", "'$x'"),
        ("a/" * 50 + "end.py", '"' + "a/" * 37 + 'end.py"'),
        ("x" * 80, '"' + "x" * 80 + '"'),
        ("x" * 81, '"' + "x" * 80 + '"'),
        ("dir/" + "x" * 80, '"' + "x" * 80 + '"'),
        ("dir/of " + "x" * 80, '"dir/of ' + "x" * 73 + '"'),
        ("", "''"),
    ],
)
def test_a_printed_query(name: str, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")
    assert by_name(name, "s 1") == f"joelclaw recall {query} --session 's 1' --limit 3"
    assert by_id("a b") == "joelclaw memory show 'a b'"


def test_what_to_do_next(run: Run, archived: Path) -> None:
    answer = run("lost").json
    kinds = {kind: part["entries"] for kind, part in answer["result"]["lost"].items()}
    assert [one["command"] for one in answer["next_actions"]] == [
        kinds["words"][0]["get"],
        kinds["names"][0]["get"],
    ]
    one = run("lost", "--limit", "1").json
    assert (
        one["next_actions"][-1]["command"]
        == f"joelclaw lost {SESSION} --limit {one['result']['lost']['names']['count']}"
    )
    assert run("lost", "--limit", "1", "--kind", "files").json["next_actions"] == []
