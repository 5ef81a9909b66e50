"""`compaction prepare`: where a session is cut, what is summarized, and which files are listed."""

from pathlib import Path

from conftest import ROOT, Run
from pi_session import PiSession, call

from session.compaction import session_tree

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
KEYS = {
    "firstKeptEntryId", "isSplitTurn", "tokensBefore", "previousSummary", "messagesToSummarize", "turnPrefixMessages",
    "fileOps", "settings",
}  # fmt: skip
LONG = "x" * 400  # 100 tokens


def turns(session: PiSession, count: int) -> None:
    """Turns of a prompt, a call, its result and an answer: 1 + 102 + 100 + 100 tokens or so."""
    for number in range(count):
        session.user("go")
        session.answer(LONG, call(f"c{number}", "bash", command="ls"))
        session.result(f"c{number}", LONG)
        session.answer(LONG)


def test_cut_at_a_turn(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    turns(session, 3)
    result = run("compaction", "prepare", str(session.path), "--keep-recent", "306", "--reserve", "9").result
    assert result.keys() >= KEYS
    assert result["reason"] == "ready"
    assert (result["firstKeptEntryId"], result["isSplitTurn"]) == ("e009", False)
    assert result["messagesToSummarize"] == session.ids[:8]
    assert result["turnPrefixMessages"] == []
    assert (result["previousSummary"], result["problems"]) == (None, [])
    assert result["settings"] == {"reserveTokens": 9, "keepRecentTokens": 306, "window": 200_000}


def test_a_recorded_session_before_its_compaction(run: Run, tmp_path: Path) -> None:
    """Cut late, and everything but the end is taken."""
    lines = (PAYLOADS / "pi" / "session.jsonl").read_bytes().splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if b'"type": "compaction"' in line)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:end]))
    result = run("compaction", "prepare", str(path), "--keep-recent", "1").result
    assert (result["client"], result["reason"], result["problems"]) == ("pi", "ready", [])
    nodes = session_tree.read(str(path)).tree
    summarized = [nodes[identifier] for identifier in (*result["messagesToSummarize"], *result["turnPrefixMessages"])]
    assert result["firstKeptEntryId"] not in {node.id for node in summarized}
    assert sum(node.role == "user" for node in summarized) == 3
    name = "src/delivery/worker.py"
    assert [path.endswith(name) for path in result["fileOps"]["written"]] == [True]
    assert [path.endswith(name) for path in result["fileOps"]["edited"]] == [True]
