"""Which differences between two runs count, and which are a matter of timing."""

import json
from pathlib import Path

from .normal_form import requests, transcript
from .session import Case, Outcome, Session, Workplace


def run(folder: Path, received: list[tuple[str | None, str]]) -> Session:
    """A session with these requests to the model."""
    requests = [{"rule": rule, "body": {"text": text}} for rule, text in received]
    return Session(Case("pi", "one-edit"), Workplace("pi", folder), Outcome([0], False, 0, requests, 0), {})


def test_two_summaries_asked_for_at_once_have_no_order(tmp_path: Path) -> None:
    history, prefix = ("compact", "summarise the history"), ("compact", "summarise the beginning of the turn")
    first = run(tmp_path / "one", [(None, "work"), history, prefix, (None, "go on")])
    other = run(tmp_path / "other", [(None, "work"), prefix, history, (None, "go on")])
    assert requests(first) == requests(other)


def test_the_conversation_has_an_order(tmp_path: Path) -> None:
    first = run(tmp_path / "one", [(None, "work"), (None, "go on")])
    other = run(tmp_path / "other", [(None, "go on"), (None, "work")])
    assert requests(first) != requests(other)


def test_a_history_that_qwen_code_writes_late_may_have_the_next_prompt(tmp_path: Path) -> None:
    transcripts = []
    for name, history in (("one", ["a summary"]), ("other", ["a summary", "the next prompt"])):
        row = {"subtype": "chat_compression", "systemPayload": {"compressedHistory": history, "info": {"tokens": 7}}}
        session = Session(
            Case("qwen", "one-edit"), Workplace("qwen", tmp_path / name), Outcome([0], False, 0, [], 0), {}
        )
        path = session.place.folder / "out" / "transcripts" / "session.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(row) + "\n")
        transcripts.append(transcript(session))
    assert (
        transcripts[0] == transcripts[1] == [{"subtype": "chat_compression", "systemPayload": {"info": {"tokens": 7}}}]
    )
