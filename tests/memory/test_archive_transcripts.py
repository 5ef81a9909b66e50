"""Every turn of a transcript becomes an episode: once, redacted, bounded, with its surroundings."""

import json
import subprocess
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, Run, clean_environment

from clients.entries import Entry, call_entry, result_entry
from core.store import documents
from memory.archive import Origin, ingest


def archive(run: Run, transcript: Transcript, *words: str) -> Any:
    return run("memory", "archive", str(transcript.path), *words).result


def exported(run: Run) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in run("memory", "export", "--collection", "episodes").out.splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return {line["id"]: line for line in lines}


def test_each_entry_belongs_to_the_project_of_its_own_folder(run: Run, transcript: Transcript, tmp_path: Path) -> None:
    for folder in ("alpha", "beta"):
        (tmp_path / folder / ".git").mkdir(parents=True)
        transcript.write(transcript.entry("user", f"mend the gauge of {folder}", cwd=str(tmp_path / folder)))
        transcript.assistant(f"looked at the gauge of {folder}")  # in a folder that is gone
    archive(run, transcript)
    rows = [row for row in exported(run).values() if row["text"].startswith("user: ")]
    assert {row["text"][24:]: row["project"] for row in rows} == {"alpha": "alpha", "beta": "beta"}
    assert run("session", "show", SESSION).result["folders"][:1] == [str(tmp_path / "alpha")]


def test_a_message_is_an_episode_with_its_origin(run: Run, transcript: Transcript) -> None:
    prompt = transcript.user("please find out why the gateway drops connections")
    answer = transcript.assistant("The upstream closes idle connections after 55 seconds.")
    agreed = transcript.user("yes")
    result = archive(run, transcript)
    assert result["episodes"] == {"added": 3, "updated": 0}
    assert (result["transcripts"], result["agents"], result["skipped"]) == (1, {"claude": 1}, [])
    assert result["bytes"] == transcript.path.stat().st_size
    memories = exported(run)
    assert set(memories) == {prompt, answer, agreed}
    assert memories[prompt]["text"] == "user: please find out why the gateway drops connections"
    assert memories[answer]["text"].startswith("assistant: The upstream")
    assert memories[agreed]["text"] == "user: yes"
    episode = memories[answer]
    assert (episode["session"], episode["project"], episode["source"], episode["type"], episode["verdict"]) == (
        SESSION, "gateway", "claude", "episode", "allow",
    )  # fmt: skip
    assert episode["created_at"] == "2026-09-20T10:00:02.000Z"
    hits = run("recall", "idle connections 55 seconds", "--session", SESSION).result["hits"]
    assert hits[0]["id"] == answer


def test_the_context_is_the_prompt_and_both_neighbours(run: Run, transcript: Transcript) -> None:
    prompt = "trace the leak in the worker " + "p" * 600
    prompt_id = transcript.user(prompt)
    first = transcript.assistant("first " + "a" * 400)
    second = transcript.assistant("second thought")
    archive(run, transcript)
    before = exported(run)
    assert before[second]["context"] == "\n".join([prompt[:500], ("first " + "a" * 400)[:300]])
    third = transcript.assistant("third " + "c" * 400)
    assert archive(run, transcript)["episodes"] == {"added": 1, "updated": 1}
    memories = exported(run)
    assert memories[prompt_id]["context"] == ("first " + "a" * 400)[:300]
    assert memories[first]["context"].splitlines() == [prompt[:500], prompt[:300], "second thought"]
    assert memories[second]["context"].splitlines() == [
        prompt[:500], ("first " + "a" * 400)[:300], ("third " + "c" * 400)[:300],
    ]  # fmt: skip
    assert third in memories
    # a word that stands in a neighbour only finds the episode
    assert second in {hit["id"] for hit in run("recall", "third", "--limit", "10").result["hits"]}


@pytest.mark.parametrize("length", [4000, 4001, 52_001])
def test_of_a_long_message_head_and_tail_are_kept(run: Run, transcript: Transcript, length: int) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(length))
    answer = transcript.assistant(text)
    archive(run, transcript)
    expected = text if length == 4000 else text[:2500] + "\n[…]\n" + text[-1500:]
    assert exported(run)[answer]["text"] == f"assistant: {expected}"


SECRETS = {
    "in a message": "ghp_" + "a8Kd02mXq71LzPw93RtVbYn45GhJ6cEs8uFi",
    "in a command": "sk-ant-api03-" + "Qm4Zx81Lp0Vt7Rk2Wd9Ny6Hs3Bf5Jc-Ea8Gu1Ti",
    "in an outcome": "AKIA" + "Q4ZX81LP0VT7RK2W",
    "in the long middle": "glpat-" + "x8Kd02mXq71LzPw93RtV",
}


def test_no_secret_reaches_the_disk(run: Run, transcript: Transcript, home: Path) -> None:
    message, command, outcome, middle = SECRETS.values()
    # cut where the kept part of a long message ends, in the prompt of the context, and in a neighbour
    transcript.user("x" * 490 + f" {message} " + "y" * 1995 + f" {middle} and on it goes " + "word " * 2000)
    transcript.call("c1", "Bash", command=f"curl -H 'x-api-key: {command}' https://api.example.test/v1")
    archive(run, transcript)  # the calls that wait for their outcome are kept as well
    transcript.outcome("c1", "r" * 190 + f" {outcome}\n-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow+Zx81Lp0Vt7" * 40)
    transcript.assistant("done")
    archive(run, transcript)
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for secret in SECRETS.values():
        for length in (len(secret), 16):
            assert secret[:length].encode() not in stored, secret
    assert b"MIIEow" not in stored
    assert "[redacted:" in json.dumps(exported(run))


def test_an_incomplete_line_waits(run: Run, transcript: Transcript) -> None:
    transcript.user("one")
    line = json.dumps(transcript.entry("assistant", [{"type": "text", "text": "two"}])).encode()
    transcript.append(line[:50])
    assert archive(run, transcript)["episodes"]["added"] == 1
    transcript.append(line[50:])
    assert archive(run, transcript)["episodes"]["added"] == 0
    transcript.append(b"\n")
    assert archive(run, transcript)["episodes"]["added"] == 1
    assert archive(run, transcript)["unchanged"] == 1
    assert len(exported(run)) == 2


def test_reading_again_changes_nothing(run: Run, transcript: Transcript, tmp_path: Path) -> None:
    transcript.user("look at the disk")
    transcript.used("c1", "Bash", "/dev/sda1 98%", command="df -h")
    transcript.assistant("It is nearly full.")
    archive(run, transcript)
    before = exported(run)
    copy = Transcript(tmp_path / "copies" / f"{SESSION}.jsonl")
    copy.append(transcript.path.read_bytes())
    assert archive(run, copy)["episodes"] == {"added": 0, "updated": 0}
    assert exported(run) == before


def test_a_forgotten_episode_stays_forgotten(run: Run, transcript: Transcript, tmp_path: Path) -> None:
    secret = transcript.user("the wedding is on 12 May")
    archive(run, transcript)
    run("memory", "forget", secret)
    transcript.assistant("Congratulations")  # would complete the first one's context
    archive(run, transcript)
    copy = Transcript(tmp_path / "copies" / f"{SESSION}.jsonl")
    copy.append(transcript.path.read_bytes())
    archive(run, copy)
    assert secret not in exported(run)
    assert secret not in {hit["id"] for hit in run("recall", "wedding 12 May").result["hits"]}


def test_a_huge_line_costs_no_memory(run: Run, home: Path, transcript: Transcript) -> None:
    first = transcript.user("before")
    transcript.append(b'{"type": "user", "message": "' + b"x " * 30_000_000 + b'"}\n')
    last = transcript.user("behind")
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 600000; exec {JOELCLAW} memory archive {transcript.path}"],
        env=clean_environment(home),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert (result["badLines"], result["episodes"]["added"]) == (1, 2)
    assert set(exported(run)) == {first, last}


# --- the functions that hooks call ----------------------------------------------------------------------------------


def message_entry(identifier: str, role: str, text: str) -> Entry:
    entry = Entry("prompt" if role == "user" else "answer", 1000)
    entry.stable_id, entry.text = identifier, text
    return entry


def take(db: apsw.Connection, *entries: Entry) -> ingest.Ingested:
    return ingest.ingest_entries(db, entries, Origin("opencode", SESSION, "/w/p", now=5))


def stored(db: apsw.Connection) -> dict[str, tuple[str, str]]:
    return {row["id"]: (row["text"], row["context"]) for row in documents.every(db)}


def test_a_hook_leaves_to_the_end_of_the_turn_what_can_wait(run: Run, transcript: Transcript, home: Path) -> None:
    def archived_to(event: str, **more: Any) -> int:
        about = {"session_id": SESSION, "transcript_path": str(transcript.path), "cwd": CWD}
        run("hook", "claude", stdin=json.dumps({"hook_event_name": event, **about, **more}))
        offset: int = json.loads((home / "sessions" / f"{SESSION}.json").read_text())["archivedTo"]
        return offset

    transcript.user("where are the gauges?")
    assert archived_to("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}) == 0
    end = archived_to("Stop")
    assert end == transcript.path.stat().st_size
    transcript.append(b'{"type":"system","subtype":"stop_hook_summary","userType":"external"}\n')
    assert archived_to("UserPromptSubmit", prompt="go on") == end  # no line has a message
    interrupted = transcript.user("and now the tide tables")
    assert archived_to("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}) == end
    assert archived_to("UserPromptSubmit", prompt="go on") == transcript.path.stat().st_size
    assert interrupted in exported(run)
    transcript.path.write_text("")
    moved = transcript.user("of a shorter file")
    assert archived_to("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}) == transcript.path.stat().st_size
    assert moved in exported(run)


def test_messages_of_a_client_without_a_file(opened_store: apsw.Connection) -> None:
    first = [message_entry("o1", "user", "why is it slow?"), message_entry("o2", "assistant", "I measure.")]
    assert take(opened_store, *first).added == 2
    # the same messages again, the last of them grown, and a new one
    again = [
        first[0],
        message_entry("o2", "assistant", "I measure. It is the linker."),
        call_entry("k", "bash", {}, [], "time make"),
    ]
    taken = take(
        opened_store, *again, result_entry("k", "real 3m1s", False), message_entry("o3", "assistant", "Use mold.")
    )
    assert (taken.added, taken.updated) == (1, 1)
    assert stored(opened_store) == {
        "o1": ("user: why is it slow?", "I measure."),
        "o2": ("assistant: I measure. It is the linker.", "why is it slow?\nUse mold."),
        "o3": ("assistant: Use mold.", "why is it slow?\nI measure. It is the linker."),
    }
    assert take(opened_store, *again, message_entry("o3", "assistant", "Use mold.")).updated == 0


def test_a_message_that_grows_within_a_read_is_one(opened_store: apsw.Connection) -> None:
    grows = [message_entry("o2", "assistant", "I"), message_entry("o2", "assistant", "I measure.")]
    first, last = message_entry("o1", "user", "why is it slow?"), message_entry("o3", "assistant", "Use mold.")
    assert take(opened_store, first, *grows, last).added == 3
    assert stored(opened_store)["o2"] == ("assistant: I measure.", "why is it slow?\nUse mold.")


@pytest.mark.parametrize("identifier", ["i" * 201, "a b", "a\0b", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"])
def test_a_long_or_secret_id_is_stored_as_a_hash(opened_store: apsw.Connection, identifier: str) -> None:
    for _ in range(2):
        take(opened_store, message_entry(identifier, "user", "hello"))
    (name,) = stored(opened_store)
    assert name.startswith("ep-") and identifier not in name
