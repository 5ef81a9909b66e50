"""`compaction branch`: what is abandoned on the way to an earlier entry."""

from pathlib import Path

import pytest
from conftest import Run
from pi_session import PiSession, call


@pytest.fixture
def session(tmp_path: Path) -> PiSession:
    """A (e001) with two branches: B C D (e002 to e005, a result among them), and E F."""
    transcript = PiSession(tmp_path / "s.jsonl")
    transcript.user("A")
    transcript.answer("B " + "b" * 398, call("c1", "edit", path="b.py"))
    transcript.result("c1", "done")
    transcript.user("C " + "c" * 398)
    transcript.answer("D " + "d" * 398, call("c2", "read", path="d.py"))
    transcript.leaf = "e001"
    transcript.answer("E", call("c3", "write", path="e.py"))
    transcript.user("F")
    return transcript


def test_the_abandoned_branch(run: Run, session: PiSession) -> None:
    result = run("compaction", "branch", str(session.path), "--from", "e005", "--to", "e007").result
    assert result["commonAncestorId"] == "e001"
    assert result["entries"] == ["e005", "e004", "e002"], "newest first, without what tools returned"
    assert result["branchEntries"] == 4
    assert result["fileOps"] == {"read": ["d.py"], "written": [], "edited": ["b.py"]}
    assert (result["readFiles"], result["modifiedFiles"]) == (["d.py"], ["b.py"])
    assert result["problems"] == []


def test_a_model_summarizes_the_branch(run: Run, session: PiSession) -> None:
    reply = session.path.with_name("reply.md")
    sections = ("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context")
    reply.write_text("\n\n".join(f"## {name}\n- said by a model" for name in sections))
    command = f"sh -c 'cat >/dev/null; cat {reply}'"
    words = ("--from", "e005", "--to", "e007", "--command", command)
    result = run("compaction", "branch", str(session.path), *words).result
    assert result["source"] == "model"
    assert "said by a model" in result["summary"]


def test_a_summary_is_squeezed_in(run: Run, tmp_path: Path) -> None:
    """A summary stands for a whole branch: it may go over the budget while less than nine tenths are used."""
    session = PiSession(tmp_path / "s.jsonl")
    session.user("A")
    details = {"readFiles": ["r.py"], "modifiedFiles": ["m.py"]}
    session.add("branch_summary", fromId="e001", summary="x" * 800, details=details)
    session.answer("y" * 400)
    words, reserve = ("compaction", "branch", str(session.path), "--to", "e001"), 1_000
    env = {"JOELCLAW_COMPACTION_RESERVE_TOKENS": str(reserve)}
    result = run(*words, env={**env, "JOELCLAW_CONTEXT_WINDOW": str(reserve + 150)}).result
    assert (result["entries"], result["tokens"]) == (["e003", "e002"], 300)
    assert result["fileOps"] == {"read": ["r.py"], "written": [], "edited": ["m.py"]}
    result = run(*words, env={**env, "JOELCLAW_CONTEXT_WINDOW": str(reserve + 110)}).result
    assert result["entries"] == ["e003"]
    assert result["fileOps"]["edited"] == ["m.py"], "what was done stays known"


@pytest.mark.parametrize(("words", "code"), [
    (("--from", "e005"), "COMPACTION_INVALID_ARGS"), (("--from", "nowhere", "--to", "e001"), "ENTRY_UNKNOWN"),
    (("--to", "nowhere"), "ENTRY_UNKNOWN"),
])  # fmt: skip
def test_wrong_words(run: Run, session: PiSession, words: tuple[str, ...], code: str) -> None:
    spawned = run("compaction", "branch", str(session.path), *words, ok=False)
    assert (spawned.code, spawned.json["error"]["code"]) == (2, code)
    assert spawned.json["fix"]
