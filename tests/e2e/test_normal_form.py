"""What of a run's requests is compared with another run's: pi asks for both halves of a split turn at once."""

from __future__ import annotations

import json
from pathlib import Path

from .normal_form import requests
from .session import Case, Session


def run(folder: Path, received: list[tuple[str | None, str]]) -> Session:
    """A session of which only the model's requests are looked at."""
    (folder / "out").mkdir(parents=True)
    lines = [json.dumps({"n": n, "rule": rule, "body": {"text": text}}) for n, (rule, text) in enumerate(received)]
    (folder / "out" / "requests.jsonl").write_text("\n".join(lines) + "\n")
    return Session(Case("pi", "one-edit"), folder, 0, "", {})


def test_two_summaries_asked_for_at_once_have_no_order(tmp_path: Path) -> None:
    history, prefix = ("compact", "summarise the history"), ("compact", "summarise the beginning of the turn")
    one = run(tmp_path / "one", [(None, "work"), history, prefix, (None, "go on")])
    other = run(tmp_path / "other", [(None, "work"), prefix, history, (None, "go on")])
    assert requests(one) == requests(other)


def test_the_conversation_has_an_order(tmp_path: Path) -> None:
    one = run(tmp_path / "one", [(None, "work"), (None, "go on")])
    other = run(tmp_path / "other", [(None, "go on"), (None, "work")])
    assert requests(one) != requests(other)
