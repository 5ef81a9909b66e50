"""A fork begins with copies of its parent's entries. Each session keeps its own words, whatever is archived first."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import CWD, Transcript
from codex_rollout import Rollout
from conftest import Run, put
from pi_session import PiSession

PARENT = "71000000-0000-4000-8000-000000000001"
CHILD = "72000000-0000-4000-8000-000000000002"
GRANDCHILD = "73000000-0000-4000-8000-000000000003"


def spoken(folder: Path, *words: str) -> Transcript:
    transcript = Transcript(folder / f"{PARENT}.jsonl")
    transcript.write({"type": "custom-title", "customTitle": "buffers", "sessionId": PARENT})
    for word in words:
        transcript.user(f"where is the {word} buffer emptied?")
        transcript.call(f"look-{word}", "Bash", command=f"grep {word}_buffer src")
        transcript.assistant(f"The {word} buffer is emptied in close_quarter().")
    return transcript


def calls(home: Path) -> dict[str, int]:
    """How many calls each session has; no other session has names of calls."""
    with apsw.Connection(str(home / "store.db")) as db:
        counts = dict(db.execute("SELECT session_id, count(*) FROM call GROUP BY 1"))
        assert {session for (session,) in db.execute("SELECT DISTINCT session_id FROM name")} <= {*counts}
    return counts


def fork(parent: Transcript, session: str, *, marked: bool = True) -> Transcript:
    """As `/branch` writes it; without marks as older versions did."""
    child = Transcript(parent.path.with_name(f"{session}.jsonl"), first=parent.count + 50)
    for row in map(json.loads, parent.path.read_text().splitlines()):
        is_marked = marked and "uuid" in row
        mark = {"forkedFrom": {"sessionId": parent.session, "messageUuid": row["uuid"]}} if is_marked else {}
        child.write({**row, "sessionId": session, **mark})
    child.user("try the other way with the gannet list")
    child.assistant("The gannet list lives for 12 minutes.")
    os.utime(parent.path, (2_000_000_000, 2_000_000_000))  # copied after the fork
    return child


def turns(run: Run) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for row in map(json.loads, run("memory", "export", "--collection", "episodes").out.splitlines()):
        if not row["text"].startswith("title: "):
            texts.setdefault(row["session"], []).append(row["text"])
    return texts


def counts(run: Run) -> dict[str, int]:
    return {session: len(texts) for session, texts in turns(run).items()}


def sessions(run: Run) -> list[dict[str, Any]]:
    return sorted(run("session", "list").result["sessions"], key=lambda row: str(row["sessionId"]))


def archive(run: Run, *transcripts: Transcript) -> None:
    for transcript in transcripts:
        run("memory", "archive", str(transcript.path))


def hook(run: Run, transcript: Transcript, session: str) -> None:
    about = {"session_id": session, "transcript_path": str(transcript.path), "cwd": CWD}
    run("hook", "claude", stdin=json.dumps({"hook_event_name": "Stop", **about}))


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("order", ["parent first", "fork first", "together"])
def test_each_session_keeps_its_own_words(run: Run, tmp_path: Path, order: str, marked: bool) -> None:
    parent = spoken(tmp_path / "t", "kestrel", "osprey")
    child = fork(parent, CHILD, marked=marked)
    if order == "together":
        run("memory", "archive", str(tmp_path / "t"))
    else:
        archive(run, *((parent, child) if order == "parent first" else (child, parent)))
    texts = turns(run)
    assert (len(texts[PARENT]), len(texts[CHILD])) == (4, 2)
    assert "osprey" in "".join(texts[PARENT]) and "gannet" in "".join(texts[CHILD])
    assert "close_quarter" in run("recall", "--raw", "--session", PARENT, "kestrel buffer").out
    assert turns(run) == texts, "reading changes nothing"


def test_a_running_fork_that_has_said_nothing_of_its_own_takes_nothing(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path, "kestrel", "osprey")
    archive(run, parent)
    child = Transcript(tmp_path / f"{CHILD}.jsonl")
    rows = map(json.loads, parent.path.read_text().splitlines())
    child.write(*[{**row, "sessionId": CHILD} for row in rows if "kestrel" in json.dumps(row)])
    hook(run, child, CHILD)
    assert counts(run) == {PARENT: 4}


@pytest.mark.parametrize(("marked", "goes_on"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_fork_of_a_fork(
    run: Run, tmp_path: Path, home: Path, order: tuple[int, ...], marked: bool, goes_on: bool
) -> None:
    parent = spoken(tmp_path, "kestrel")
    parent.compact()
    child = fork(parent, CHILD, marked=marked)
    grandchild = fork(child, GRANDCHILD, marked=marked)
    if goes_on:
        parent.count += 500
        parent.user("what about the curlew?")
    archive(run, *((parent, child, grandchild)[number] for number in order))
    assert counts(run) == {PARENT: 2 + goes_on, CHILD: 2, GRANDCHILD: 2}
    assert [row["compactions"] for row in sessions(run)] == [1, 0, 0]
    assert calls(home) == {PARENT: 1}
    relations = [(row["kind"], row["parent"]) for row in sessions(run)]
    assert [kind for kind, _ in relations] == ["main", "fork", "fork"]
    assert relations[1:] == [("fork", PARENT), ("fork", CHILD)]


def test_a_running_fork_of_a_running_fork(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    hook(run, parent, PARENT)
    child = fork(parent, CHILD, marked=False)
    hook(run, child, CHILD)
    parent.count += 500
    parent.user("what about the curlew?")
    hook(run, parent, PARENT)
    hook(run, fork(child, GRANDCHILD, marked=False), GRANDCHILD)
    assert counts(run) == {PARENT: 3, CHILD: 2, GRANDCHILD: 2}
    assert [(row["kind"], row["parent"]) for row in sessions(run)] == [("main", ""), ("fork", PARENT), ("fork", CHILD)]


def test_a_running_fork_that_is_read_again_leaves_the_calls_of_its_parent(run: Run, tmp_path: Path, home: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    archive(run, parent)
    child = fork(parent, CHILD, marked=False)
    hook(run, child, CHILD)
    child.call("look-gannet", "Bash", command="grep gannet_list src")
    child.assistant("The gannet list is in lists.c.")
    hook(run, fork(child, GRANDCHILD, marked=False), GRANDCHILD)  # is read before its parent says what it copied
    hook(run, child, CHILD)
    assert counts(run) == {PARENT: 2, CHILD: 3, GRANDCHILD: 2}
    assert calls(home) == {PARENT: 1, CHILD: 1}


def test_lines_that_name_another_session_belong_to_that_one(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    resumed = put(tmp_path / "resumed" / f"{CHILD}.jsonl", parent.path.read_text())
    own = Transcript(resumed, first=90)
    own.user("go on with the gannet list")
    archive(run, own)
    assert counts(run) == {PARENT: 2, CHILD: 1}
    assert [(row["kind"], row["parent"]) for row in sessions(run)][1:] == [("fork", PARENT)]


def test_a_purge_of_the_fork_leaves_its_parent(run: Run, tmp_path: Path, home: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    archive(run, fork(parent, CHILD), parent)
    run("memory", "forget", "--session", CHILD, "--purge", "--yes")
    assert list(turns(run)) == [PARENT] and len(turns(run)[PARENT]) == 2
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"gannet" not in stored, "no turn of the parent quotes the fork"


def test_a_purge_of_the_parent_leaves_what_only_the_fork_says(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    archive(run, fork(parent, CHILD), parent)
    run("memory", "purge", "--session", PARENT, "--yes")
    assert counts(run) == {CHILD: 2}


def test_words_of_a_parent_whose_transcript_is_gone_are_archived_from_the_fork(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    child = fork(parent, CHILD)
    parent.path.unlink()
    archive(run, child)
    assert counts(run) == {PARENT: 2, CHILD: 2}


def test_a_fork_of_a_fork_whose_transcript_is_gone_takes_nothing_of_their_parent(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path, "kestrel")
    child = fork(parent, CHILD)
    grandchild = fork(child, GRANDCHILD)  # its lines all name the child
    parent.count += 500
    parent.user("what about the curlew?")
    child.path.unlink()
    archive(run, parent, grandchild)
    assert counts(run) == {PARENT: 3, CHILD: 2, GRANDCHILD: 2}


@pytest.mark.parametrize("order", ["parent first", "fork first"])
def test_a_note_that_an_unmarked_fork_copied_stays_with_the_parent(run: Run, tmp_path: Path, order: str) -> None:
    parent = spoken(tmp_path, "kestrel")
    parent.user('<teammate-message teammate_id="b">the plover list is empty</teammate-message>')
    parent.user("good")
    child = fork(parent, CHILD, marked=False)  # gives the note another id
    archive(run, *((parent, child) if order == "parent first" else (child, parent)))
    assert counts(run) == {PARENT: 4, CHILD: 2}


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_session_that_was_emptied_is_read_again_with_the_next_archive(
    run: Run, tmp_path: Path, home: Path, goes_on: bool
) -> None:
    parent = spoken(tmp_path, "kestrel")
    child = fork(parent, CHILD)
    if goes_on:
        parent.count += 500
        parent.user("what about the curlew?")
    archive(run, parent, child)
    db = apsw.Connection(str(home / "store.db"))  # as an older version left it
    db.execute("UPDATE document SET session_id = ? WHERE text LIKE '%kestrel%'", (CHILD,))
    db.execute("INSERT INTO unchecked_session SELECT id FROM session")
    db.close()
    assert len(turns(run)[CHILD]) == 4
    run("memory", "archive", str(tmp_path))
    assert counts(run) == {PARENT: 2 + goes_on, CHILD: 2}
    again: Any = run("memory", "archive", str(tmp_path)).result
    assert again["unchanged"] == 2


def pi_fork(parent: PiSession, hour: int, name: str, **header: Any) -> PiSession:
    child = PiSession(parent.path.with_name(f"2026-09-20T{hour}-00-00-000Z_{name}.jsonl"))
    head, *copied = parent.path.read_text().splitlines()
    child.path.write_text("\n".join([json.dumps({**json.loads(head), "id": name, **header}), *copied]) + "\n")
    child.ids, child.leaf = [*parent.ids], parent.leaf
    return child


def test_a_fork_of_pi(run: Run, tmp_path: Path) -> None:
    parent = PiSession(tmp_path / "2026-09-20T10-00-00-000Z_s-1.jsonl")
    parent.user("where is the kestrel buffer emptied?")
    child = pi_fork(parent, 11, "second")
    child.user("try the gannet list")
    os.utime(parent.path, (1_790_000_000, 1_790_000_000))
    for path in (child.path, parent.path):
        run("memory", "archive", str(path))
    assert counts(run) == {"s-1": 1, "second": 1}


def test_a_purge_also_finds_what_a_hook_has_moved_to_the_parent(run: Run, tmp_path: Path, home: Path) -> None:
    parent = PiSession(tmp_path / "2026-09-20T10-00-00-000Z_s-1.jsonl")
    parent.user("where is the kestrel buffer emptied?")
    child = pi_fork(parent, 11, "second", parentSession=str(parent.path))
    child.user("try the gannet list")
    for session, talk in (("second", child), ("s-1", parent)):
        event = {"session_id": session, "cwd": "/w", "transcript_path": str(talk.path)}
        run("hook", "pi", "--event", "session_end", stdin=json.dumps(event))
    assert turns(run) == {
        "second": ["user: try the gannet list"], "s-1": ["user: where is the kestrel buffer emptied?"],
    }  # fmt: skip
    run("memory", "purge", "--match", "kestrel", "--yes")
    assert b"kestrel" not in b"".join(path.read_bytes() for path in home.glob("store.db*"))


@pytest.mark.parametrize("gone", [None, 0, 1])
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
@pytest.mark.parametrize("third_from", [0, 1])
def test_a_second_fork_of_pi(
    run: Run, tmp_path: Path, order: tuple[int, ...], gone: int | None, third_from: int
) -> None:
    files = [PiSession(tmp_path / "2026-09-20T10-00-00-000Z_s-1.jsonl")]
    for number, name in enumerate(("s-1", "second", "third")):
        if number:
            parent = files[(0, third_from)[number - 1]]
            files.append(pi_fork(parent, 10 + number, name, parentSession=str(parent.path)))
            files[-1].ids = [*files[-2].ids]
        files[-1].add("message", message={"role": "user", "content": f"try way {number}", "timestamp": number + 1})
    files[0].ids += ["", ""]  # so that the next id is new in all three
    files[0].add("message", message={"role": "user", "content": "what about the curlew?", "timestamp": 9})
    for number in order:
        run("memory", "archive", str(files[number].path))
        if number == gone:
            files[number].path.unlink()
    assert turns(run) == {
        "s-1": ["user: try way 0", "user: what about the curlew?"],
        "second": ["user: try way 1"],
        "third": ["user: try way 2"],
    }
    parents = {row["sessionId"]: row["parent"] for row in sessions(run)}
    assert parents == {"s-1": "", "second": "s-1", "third": ("s-1", "second")[third_from]}


def test_a_parent_with_a_transcript_that_is_gone_keeps_what_only_that_had(run: Run, tmp_path: Path) -> None:
    parent = spoken(tmp_path / "t", "kestrel")
    moved = Transcript(tmp_path / "moved" / parent.path.name, first=400)
    moved.user("what about the curlew?")
    archive(run, parent, moved)
    moved.path.unlink()
    parent.assistant("It is in the other list.")
    archive(run, fork(parent, CHILD), parent)
    assert counts(run) == {PARENT: 4, CHILD: 2}


FIRST = "019a0000-0000-7000-8000-00000000000a"
FORKED = "019a0000-1111-7000-8000-00000000000b"
RELATIONS: dict[str, dict[str, Any]] = {
    "fork": {"forked_from_id": FIRST},
    "subagent": {"source": {"subagent": {"thread_spawn": {"parent_thread_id": FIRST}}}},
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("order", ["parent first", "fork first"])
def test_a_rollout_that_begins_with_the_history_of_another(run: Run, tmp_path: Path, order: str, relation: str) -> None:
    parent = Rollout(tmp_path / ".codex/sessions/2026/09/20", FIRST, 0)
    parent.say("user", "why is the osprey export slow?")
    parent.say("assistant", "Every page takes the lock of the table.")
    child = Rollout(tmp_path / ".codex/sessions/2026/09/21", FORKED, 10, **RELATIONS[relation])
    for kind, payload in parent.rows:
        child.add(kind, **payload)
    child.say("user", "go on")
    child.say("assistant", "One lock for each page.")
    parent.at = 1200
    parent.say("user", "go on")
    parent.say("assistant", "It is measured.")
    for rollout in (parent, child) if order == "parent first" else (child, parent):
        run("memory", "archive", str(rollout.path), env={"HOME": str(tmp_path)})
    assert counts(run) == {FIRST: 4, FORKED: 2}
    asker = {"fork": "user", "subagent": "teammate"}[relation]
    assert turns(run)[FORKED] == [f"{asker}: go on", "assistant: One lock for each page."]
    found = run("session", "show", FORKED).result
    assert (found["kind"], found["parent"]) == (relation, FIRST)
    child.say("user", "and then?")
    run("memory", "archive", str(child.path), env={"HOME": str(tmp_path)})
    assert len(turns(run)[FORKED]) == 3
    for deleted in ("forget", "purge --yes"):
        run("memory", *deleted.split(), "--session", FIRST)
        assert (FORKED in turns(run)) == (relation == "fork")
        run("memory", "archive", "--again", FIRST, env={"HOME": str(tmp_path)})
        assert (len(turns(run)[FIRST]), len(turns(run)[FORKED])) == (4, 3)


@pytest.mark.parametrize("first", ["the whole session", "the last turn"])
def test_a_subagent_that_gets_only_messages_of_its_parent(run: Run, tmp_path: Path, first: str) -> None:
    parent = Rollout(tmp_path / ".codex/sessions/2026/09/20", FIRST, 0)
    for word in ("osprey", "kestrel"):
        parent.say("user", f"why is the {word} export slow?")
        parent.say("assistant", f"I look at the {word} export.")
        parent.call(word, "x = 1", cmd=f"cat {word}.py")
        parent.say("assistant", f"The {word} export takes a lock.")
    child = Rollout(tmp_path / ".codex/sessions/2026/09/21", FORKED, 10, **RELATIONS["subagent"])
    messages = [row for row in parent.rows if row[1].get("type") == "message" and "I look at" not in json.dumps(row)]
    for kind, payload in messages[0 if first == "the whole session" else 2 :]:
        child.add(kind, **payload)
    child.say("user", "count the locks")
    child.say("assistant", "There are two.")
    for rollout in (child, parent):
        run("memory", "archive", str(rollout.path), env={"HOME": str(tmp_path)})
    assert turns(run)[FORKED] == ["teammate: count the locks", "assistant: There are two."]
    assert len(turns(run)[FIRST]) == 6


def test_a_history_of_which_the_original_is_gone_is_archived(run: Run, tmp_path: Path) -> None:
    child = Rollout(tmp_path, FORKED, 10, forked_from_id=FIRST)
    child.say("user", "why is the osprey export slow?")
    run("memory", "archive", str(child.path), env={"HOME": str(tmp_path)})
    assert len(turns(run)[FORKED]) == 1


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), "together", "by hooks"])
@pytest.mark.parametrize("is_stamped", [True, False], ids=["same times", "new times"])
def test_rollouts_that_begin_alike_without_naming_a_parent(
    run: Run, tmp_path: Path, home: Path, order: Any, is_stamped: bool
) -> None:
    folder = tmp_path / "sessions"
    rollouts = [Rollout(folder, FIRST, 0)]
    for word in ("osprey", "kestrel"):
        rollouts[0].say("user", f"why is the {word} export slow?")
        rollouts[0].call(word, cmd="cat x.py")
        rollouts[0].say("assistant", f"The {word} export takes a lock.")
    for number, session in enumerate((FORKED, FORKED[:-1] + "c"), 1):
        rollouts.append(Rollout(folder, session, 0 if is_stamped else number * 10))
        for kind, payload in rollouts[0].rows[1:]:
            rollouts[-1].add(kind, **payload)
        rollouts[-1].at = 1500 + 300 * number
        rollouts[-1].say("user", "go on")
        rollouts[-1].say("assistant", f"It is done in way {number}.")
    rollouts[0].at = 3000
    rollouts[0].say("user", "go on")
    rollouts[0].say("assistant", "It is measured.")
    for _ in range(2):
        if order == "together":
            run("memory", "archive", str(folder))
        for number in (2, 1, 0) if order == "by hooks" else order if order != "together" else ():
            if order == "by hooks":
                event = {"session_id": rollouts[number].session, "transcript_path": str(rollouts[number].path)}
                run("hook", "codex", stdin=json.dumps({"hook_event_name": "Stop", "cwd": "/w", **event}))
            else:
                run("memory", "archive", str(rollouts[number].path))
        assert [len(turns(run)[row.session]) for row in rollouts] == [6, 2, 2]
        assert calls(home) == {FIRST: 2}
        listed = {row["sessionId"]: (row["kind"], row["turns"], row["toolCalls"]) for row in sessions(run)}
        assert [listed[row.session] for row in rollouts] == [("main", 3, 2), ("fork", 1, 2), ("fork", 1, 2)]
        db = apsw.Connection(str(home / "store.db"))
        db.execute("UPDATE transcript SET head = ''; DELETE FROM seen_file")
        db.close()


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), "together"])
def test_a_rollout_that_begins_like_a_fork_without_naming_it(run: Run, tmp_path: Path, home: Path, order: Any) -> None:
    rollouts: list[Rollout] = []
    for number, (session, word) in enumerate(zip((FIRST, FORKED, FORKED[:-1] + "c"), WORDS, strict=True)):
        rollouts.append(Rollout(tmp_path / "sessions", session, number * 10))
        for kind, payload in rollouts[-2].rows[1:] if number else ():
            rollouts[-1].add(kind, **payload)
        work(rollouts[-1], word)
    if order == "together":
        run("memory", "archive", str(tmp_path))
    else:
        for number in order:
            run("memory", "archive", str(rollouts[number].path))
    ids = [rollout.session for rollout in rollouts]
    assert [len(turns(run)[session]) for session in ids] == [6, 6, 6]
    assert [calls(home)[session] for session in ids] == [3, 3, 3]
    listed = {row["sessionId"]: row["parent"] for row in sessions(run)}
    assert [listed[session] for session in ids] == ["", *ids[:2]]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
@pytest.mark.parametrize("copied", [(1, 3), (3, 1)])
def test_rollouts_that_name_no_parent_and_copied_less_or_more_of_it(
    run: Run, tmp_path: Path, order: tuple[int, ...], copied: tuple[int, int]
) -> None:
    rollouts = [Rollout(tmp_path, FIRST[:-1] + name, 0) for name in "abc"]
    for number in range(4):
        for rollout in (rollouts[0], *(copy for copy, most in zip(rollouts[1:], copied, strict=True) if number < most)):
            rollout.say("user", f"why is export {number} slow?")
            rollout.say("assistant", f"Export {number} takes a lock.")
    for number, rollout in enumerate(rollouts[1:]):
        rollout.at = 1500 + 300 * number
        rollout.say("user", f"try way {number}")
        rollout.say("assistant", f"Way {number} is faster.")
    for number in order:
        run("memory", "archive", str(rollouts[number].path))
    assert [len(turns(run)[rollout.session]) for rollout in rollouts] == [8, 2, 2]


def test_a_hook_reads_a_long_copy_in_parts(run: Run, tmp_path: Path) -> None:
    rollouts = [Rollout(tmp_path / "sessions", FIRST, 0), Rollout(tmp_path / "sessions", FORKED, 10)]
    for number in range(60):
        for rollout in rollouts:
            rollout.say("user", f"look at part {number} " + "x" * 10_000)
            rollout.say("assistant", f"Part {number} takes a lock.")
    rollouts[1].say("user", "try the gannet list")
    run("memory", "archive", str(rollouts[0].path))
    for event in ("UserPromptSubmit", *["Stop"] * 2):
        about = {"session_id": FORKED, "transcript_path": str(rollouts[1].path), "cwd": "/w", "prompt": "go on"}
        run("hook", "codex", stdin=json.dumps({"hook_event_name": event, **about}))
    assert counts(run) == {FIRST: 120, FORKED: 1}


def test_two_rollouts_of_a_single_exchange_may_be_alike_by_chance(run: Run, tmp_path: Path) -> None:
    for number, session in enumerate((FIRST, FORKED)):
        rollout = Rollout(tmp_path / "sessions", session, number)
        rollout.say("user", "run the nightly checks")
        rollout.say("assistant", "All checks pass.")
    run("memory", "archive", str(tmp_path))
    assert [len(texts) for texts in turns(run).values()] == [2, 2]


WORDS = ("kestrel", "osprey", "gannet")


def work(transcript: Any, word: str) -> None:
    """A prompt, a command that shows three names, and an answer."""
    shown = "".join(f"src/{word}.py:{line}: def {word}_{line}_buffer():\n" for line in range(2, 5))
    for number in range(3):
        key, command = f"{word}-{number}", f"grep {word} src/{word}.py"
        if isinstance(transcript, Transcript):
            transcript.user(f"look at the {word} buffer, part {number}, and count its users")
            transcript.used(key, "Bash", shown, command=command)
            transcript.assistant(f"Part {number} of {word} is counted.")
            continue
        transcript.say("user", f"look at the {word} buffer, part {number}, and count its users")
        transcript.call(key, shown, cmd=command)
        transcript.say("assistant", f"Part {number} of {word} is counted.")


def test_a_fork_of_codex_that_copies_nothing(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / ".codex/sessions/2026/09/20"
    parent = Rollout(folder, FIRST, 0)
    work(parent, "kestrel")
    base = {"thread_id": FIRST, "end_byte_offset": parent.path.stat().st_size}
    child = Rollout(folder, FORKED, 10, forked_from_id=FIRST, history_base=base)
    work(child, "osprey")
    child.add("compacted", message="It goes on.", replacement_history=[])
    parent.at = 1200
    work(parent, "heron")
    for rollout in (child, parent):
        run("memory", "archive", str(rollout.path), env={"HOME": str(tmp_path)})
    assert counts(run) == {FIRST: 12, FORKED: 6}
    lost = run("lost", FORKED)
    assert lost.result["compaction"]["callsBefore"] == 6
    assert "kestrel_2_buffer" in lost.out and "osprey_2_buffer" in lost.out and "heron" not in lost.out


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_after_a_compaction_a_fork_has_what_its_parents_did_before_it(run: Run, tmp_path: Path, client: str) -> None:
    folder = tmp_path / ".codex/sessions/2026/09/20"
    ids = [FIRST, FORKED, GRANDCHILD]
    made: list[Any] = []
    for number, (session, word) in enumerate(zip(ids, WORDS, strict=True)):
        if client == "codex":
            made.append(
                Rollout(folder, session, number * 10, **({"forked_from_id": ids[number - 1]} if number else {}))
            )
            for kind, payload in made[-2].rows if number else ():
                made[-1].add(kind, **payload)
        else:
            made.append(Transcript(tmp_path / f"{session}.jsonl", first=number * 20))
            for row in map(json.loads, made[-2].path.read_text().splitlines() if number else ()):
                mark = {"forkedFrom": {"sessionId": ids[number - 1], "messageUuid": row["uuid"]}}
                made[-1].write({**row, "sessionId": session, **mark})
        work(made[-1], word)
    if client == "codex":
        made[2].add("compacted", message="It goes on.", replacement_history=[])
    else:
        made[2].compact()
    for number, transcript in enumerate(made[:2]):  # the parents go on
        if client == "codex":
            transcript.at = 2400
        else:
            transcript.count = 300 + 20 * number
        work(transcript, f"heron{number}")
    for transcript in made[::-1]:
        run("memory", "archive", str(transcript.path), env={"HOME": str(tmp_path)})
    lost = run("lost", GRANDCHILD).result
    assert [row["name"] for row in lost["lost"]["names"]["entries"][::3]] == [
        f"{word}_2_buffer" for word in WORDS[::-1]
    ]
    assert lost["lost"]["words"]["count"] == lost["compaction"]["callsBefore"] == 9
    event = {"session_id": GRANDCHILD, "transcript_path": str(made[2].path), "cwd": CWD}
    for name in ("PreCompact", "PostCompact"):
        run("hook", client, stdin=json.dumps({"hook_event_name": name, "trigger": "auto", **event}))
    note = run("hook", client, stdin=json.dumps({"hook_event_name": "SessionStart", "source": "compact", **event})).out
    assert all(f"- {word}.py: {word}_" in note for word in WORDS), note
    assert "heron" not in note
