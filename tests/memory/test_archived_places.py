"""Places are lines that outputs number and edits change, as they were seen last."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from codex_rollout import Rollout
from conftest import Run
from pi_session import PiSession
from pi_session import call as pi_call

from core.store import calls
from memory.archive.call_rows import shown_lines

DIFF = "diff --git a/a.ts b/a.ts\n+++ b/a.ts\n@@ -3,2 +10,3 @@ x\n keepAlive\n-oldName\n+newName\n+lastName"

LAST = ("a.ts", 40, "last")
PICKED = (
    "diff --git a/a.ts b/a.ts\n+++ b/a.ts\n@@ -10,2 +10,3 @@\n keepAlive\n+12 of\n\n"
    "(1/2) Stage this hunk [y,n,q,a,d,?]? @@ -39 +40 @@ f\n-old\n+last\n(2/2) Stage this hunk [y,n,q,a,d,?]? "
)


@pytest.mark.parametrize(("text", "arguments", "expected"), [
    ("   12→const idleMs = 5", {"file": "a.ts"}, [("a.ts", 12, "const idleMs = 5")]),
    ("12\tidleMs\n\t\n14\tcloseAll", {"file": "a.ts"}, [("a.ts", 12, "idleMs"), ("a.ts", 14, "closeAll")]),
    ("     0→package a\n     1→x", {"file": "a.go"}, [("a.go", 1, "package a"), ("a.go", 2, "x")]),
    ("src/a.ts:7:idleMs = 1\nsrc/a.ts-8-  next", {}, [("src/a.ts", 7, "idleMs = 1"), ("src/a.ts", 8, "  next")]),
    ("7:x\n9-y", {"command": "grep -n x src/a.ts"}, [("src/a.ts", 7, "x"), ("src/a.ts", 9, "y")]),
    ("x\ny", {"command": "cd w && sed -n '40,41p' a.ts"}, [("w/a.ts", 40, "x"), ("w/a.ts", 41, "y")]),
    ("x\ny", {"command": "sed -n '40,80p' a.ts | grep x"}, []),
    ("x\ny", {"command": "sed -n '40,80p' a.ts | head -2"}, [("a.ts", 40, "x"), ("a.ts", 41, "y")]),
    ("x\ny", {"command": "sed -n '40,41p' a.ts > b.ts"}, []),
    ("x\ny", {"command": "sed -n '40,41p' a.ts 2>/dev/null"}, [("a.ts", 40, "x"), ("a.ts", 41, "y")]),
    ("9 a.ts\nx", {"command": "wc -l a.ts && sed -n 4p a.ts"}, []),
    ("a\nb", {"command": "sed -n 4,9p a.py; sed -n 9p b.py"}, []),
    ("7:x", {"command": "grep x src/a.ts"}, []),
    ("Total output lines: 900\n\nx", {"command": "cat a.py"}, []),
    ("x1\nx2…6346 tokens truncated…x8\nx9", {"command": "cat a.py"}, [("a.py", 1, "x1")]),
    ("x1\nx2", {"command": "cat a.py"}, [("a.py", 1, "x1"), ("a.py", 2, "x2")]),
    ("one\ntwo", {"file": "a.py", "first": 30}, [("a.py", 30, "one"), ("a.py", 31, "two")]),
    (DIFF, {"command": "git diff"}, [("a.ts", 10, "keepAlive"), ("a.ts", 11, "newName"), ("a.ts", 12, "lastName")]),
    (PICKED, {"command": "git add -p"}, [("a.ts", 10, "keepAlive"), ("a.ts", 11, "12 of"), ("a.ts", 12, ""), LAST]),
    ("./p/x_test.go:88:5: undefined: parseIt", {}, [("p/x_test.go", 88, "5: undefined: parseIt")]),
    ("    at closeAll (src/a.ts:12:5)", {}, [("src/a.ts", 12, "at closeAll ( 5)")]),
    ("2026-11-23 10:20:30 serverStarted", {}, []),
    ("src/a.ts:\u0663 idleMs\nsrc/a.ts:20261123 idleMs", {}, []),
])  # fmt: skip
def test_lines_whose_place_is_known(text: str, arguments: dict[str, Any], expected: list[tuple[str, int, str]]) -> None:
    assert [(file, number, line) for file, number, line, _ in shown_lines(text, **arguments)] == expected


def places(home: Path) -> dict[tuple[str, str], tuple[int, int, bool]]:
    """File and name: line, how many calls showed it, whether it is defined there."""
    with apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY) as db:
        rows = calls.places(db, SESSION)
    return {(place["file"], place["name"]): (place["line"], place["shown"], place["defines"]) for place in rows}


def edits(home: Path) -> list[tuple[str, int, int, int]]:
    with apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return [(edit["file"], edit["number"], edit["first"], edit["last"]) for edit in calls.edits(db, SESSION)]


def test_a_place_is_the_line_that_was_seen_last(run: Run, home: Path, transcript: Transcript) -> None:
    transcript.user("mend the pool")
    transcript.call("c1", "Read", file_path=f"{CWD}/src/pool.go")
    transcript.outcome("c1", "     3→var idleMs = 1\n    20→func (p *Pool) closeAll() {\n    30→\tcloseAll(idleMs)")
    assert run("memory", "archive", str(transcript.path)).code == 0
    assert places(home) == {("src/pool.go", "idleMs"): (3, 1, True), ("src/pool.go", "closeAll"): (20, 1, True)}
    for call, failed in (("c2", False), ("c3", True)):
        transcript.edited(call, "src/pool.go", 9, " x", "+\topenAll()", "+", " y", failed=failed)
    transcript.call("c4", "Grep", pattern="closeAll", path=f"{CWD}/src/pool.go")
    transcript.outcome("c4", "22:func (p *Pool) closeAll() {\n32:\tcloseAll(idleMs)")
    assert run("memory", "archive", str(transcript.path)).code == 0
    after = {
        ("src/pool.go", "idleMs"): (3, 2, True),
        ("src/pool.go", "closeAll"): (22, 2, True),
        ("src/pool.go", "openAll"): (10, 1, False),
    }
    assert places(home) == after
    assert edits(home) == [("src/pool.go", 2, 10, 11)]
    # reading it again from its beginning changes nothing
    with apsw.Connection(str(home / "store.db")) as db:
        db.execute("UPDATE transcript SET head = ''; DELETE FROM seen_file")
    assert run("memory", "archive", str(transcript.path)).code == 0
    assert (places(home), edits(home)) == (after, [("src/pool.go", 2, 10, 11)])
    assert run("memory", "forget", "call:" + SESSION + ":4").code == 0
    assert ("src/pool.go", "closeAll") not in places(home)
    assert run("memory", "forget", "--session", SESSION).code == 0
    assert places(home) == {} and edits(home) == []


def test_a_patch_of_codex(run: Run, home: Path, tmp_path: Path) -> None:
    rollout = Rollout(tmp_path, SESSION, cwd=CWD)
    patch = "*** Begin Patch\n*** Update File: src/pool.go\n@@\n+openAll()\n*** End Patch"
    rollout.item("custom_tool_call", name="apply_patch", call_id="p1", input=patch)
    changes = {f"{CWD}/src/pool.go": {"type": "update", "unified_diff": "@@ -9,2 +9,3 @@\n x\n+\topenAll()\n y\n"}}
    rollout.add("event_msg", type="patch_apply_end", call_id="p1", success=True, changes=changes)
    rollout.item("custom_tool_call_output", call_id="p1", output="Success.")
    assert run("memory", "archive", str(rollout.path)).code == 0
    assert (places(home), edits(home)) == ({("src/pool.go", "openAll"): (10, 1, False)}, [("src/pool.go", 1, 10, 10)])


def test_files_that_pi_writes_and_edits(run: Run, home: Path, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "--home-u-gateway--" / "2026-09-21T10-00-00-000Z_s-1.jsonl", cwd=CWD)
    session.answer("", pi_call("c1", "write", path="src/pool.py", content="IDLE_MS = 5\n\n\ndef close_all():\n"))
    session.result("c1", "written")
    session.answer("", pi_call("c2", "edit", path="src/pool.py", edits=[{"oldText": "a", "newText": "b"}]))
    assert run("memory", "archive", str(session.path)).code == 0
    # what came of it may be read later than the call: a hook runs between the two
    diff = "  1 IDLE_MS = 5\n+ 2 MOST_OPEN = 9\n  3 "
    session.result("c2", "edited", details={"diff": diff})
    assert run("memory", "archive", str(session.path)).code == 0
    with apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY) as db:
        lines = {place["name"]: place["line"] for place in calls.places(db, "s-1", files=["src/pool.py"])}
        assert lines == {"IDLE_MS": 1, "MOST_OPEN": 2, "close_all": 4}
        edited = [(edit["file"], edit["first"]) for edit in calls.edits(db, "s-1")]
    assert edited == [("src/pool.py", 1), ("src/pool.py", 2)]
