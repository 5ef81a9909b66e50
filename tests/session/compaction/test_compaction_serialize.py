"""`compaction serialize`: the flattened conversation."""

from pathlib import Path

from conftest import Run
from pi_session import PiSession, call


def conversation(path: Path) -> PiSession:
    session = PiSession(path)
    session.user("What they said")
    content = [
        {"type": "thinking", "thinking": "Internal reasoning", "thinkingSignature": "x"},
        {"type": "text", "text": "Response text"},
        call("c1", "read", path="foo.ts"),
        call("c2", "edit", path="bar.ts", edits=[{"oldText": "a\n", "newText": "ü"}]),
    ]
    session.add("message", message={"role": "assistant", "content": content, "stopReason": "toolUse"})
    session.result("c1", "Output from tool")
    session.result("c2", "")
    return session


FLAT = """[User]: What they said

[Assistant]: Response text

[Assistant tool calls]: read(path="foo.ts"); edit(path="bar.ts", edits=[{"oldText":"a\\n","newText":"ü"}])

[Tool result]: Output from tool"""


def test_the_form(run: Run, tmp_path: Path) -> None:
    session = conversation(tmp_path / "s.jsonl")
    result = run("compaction", "serialize", str(session.path)).result
    assert result["text"] == FLAT
    assert (result["messages"], result["characters"], result["part"]) == (4, len(FLAT), "context")
    assert run("compaction", "serialize", str(session.path), "--raw").out == FLAT + "\n"


def test_a_long_result_is_cut(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.result("c1", "x" * 2_001)
    text = run("compaction", "serialize", str(session.path)).result["text"]
    assert text == f"[Tool result]: {'x' * 2_000}\n\n[... 1 more characters truncated]"


def test_parts(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.user("first")
    session.answer("a" * 400)
    session.user("second")
    session.compaction("e003", "SUMMARY")
    session.answer("b" * 400)
    session.user("third")
    session.answer("c" * 400)
    session.answer("d" * 400)

    def part(*words: str) -> list[str]:
        text = run("compaction", "serialize", str(session.path), "--keep-recent", "50", *words).result["text"]
        return [paragraph.strip().rpartition(" ")[2][:6] for paragraph in text.split("\n\n[")]

    assert part() == part("--part", "context")
    assert part()[1:] == ["second", "b" * 6, "third", "c" * 6, "d" * 6]
    assert part("--part", "branch") == ["first", "a" * 6, "second", "b" * 6, "third", "c" * 6, "d" * 6]
    assert part("--part", "summarize") == ["second", "b" * 6]
    assert part("--part", "prefix") == ["third", "c" * 6]
