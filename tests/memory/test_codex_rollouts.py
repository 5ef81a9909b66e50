"""What is archived of Codex's rollouts: the user's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

SESSION = "019a0000-0000-7000-8000-00000000000c"


class Rollout:
    """A rollout, with or without events that repeat what the user typed."""

    def __init__(self, folder: Path, *, events: str = "user_message") -> None:
        self.path = folder / f"rollout-2026-09-20T10-00-00-{SESSION}.jsonl"
        self.events = events
        self.rows: list[dict[str, Any]] = []
        self.add("session_meta", id=SESSION, cwd="/w/hive")

    def add(self, kind: str, **payload: Any) -> None:
        at = f"2026-09-20T10:00:{len(self.rows):02}.000Z"
        self.rows.append({"timestamp": at, "type": kind, "payload": payload})

    def message(self, *texts: str, role: str = "user") -> None:
        content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text} for text in texts]
        self.add("response_item", type="message", role=role, content=content)

    def prompt(self, *texts: str) -> None:
        self.message(*texts)
        if self.events == "user_message":
            self.add("event_msg", type="user_message", message=texts[0], images=[])
        elif self.events:
            item = {"type": self.events, "content": [{"type": "text", "text": texts[0]}]}
            self.add("event_msg", type="item_completed", item=item)

    def archive(self, run: Run) -> dict[str, Any]:
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        result: dict[str, Any] = run("memory", "archive", str(self.path)).result
        return result


def prompts(run: Run) -> list[str]:
    rows = map(json.loads, run("memory", "export", "--collection", "episodes").out.splitlines())
    return [row["text"].removeprefix("user: ") for row in rows if row["text"].startswith("user: ")]


@pytest.mark.parametrize("events", ["user_message", "UserMessage", ""])
@pytest.mark.parametrize(
    "text",
    [
        "<recommended_plugins>\nwhimbrel-tools\n</recommended_plugins>",
        '<app-context kind="desktop">\nThe app shows a hive.\n</app-context>',
        "# AGENTS.md instructions for /w/hive\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>",
        "<permissions>ask first</permissions>",
    ],
)
def test_messages_that_codex_writes_for_the_user_are_no_prompts(
    run: Run, tmp_path: Path, events: str, text: str
) -> None:
    rollout = Rollout(tmp_path, events=events)
    rollout.message(text, "<environment_context>\n  <cwd>/w/hive</cwd>\n</environment_context>")
    rollout.prompt("count the hives")
    rollout.message("Nine.", role="assistant")
    rollout.message(text)
    rollout.message("Still nine.", role="assistant")
    rollout.archive(run)
    assert prompts(run) == ["count the hives"]


def test_a_message_in_the_users_name_that_no_event_repeats_is_no_prompt(run: Run, tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.message("Warning: the process limit is near.")
    rollout.prompt("<task>count the hives</task>")
    rollout.prompt("and the drones", "[the client adds this]")
    rollout.message("Nine.", role="assistant")
    rollout.archive(run)
    assert prompts(run) == ["<task>count the hives</task>", "and the drones"]


@pytest.mark.parametrize(
    "before",
    [
        "# Context from my IDE setup:\n\n## Open tabs:\n- comb.py\n\n## My request for Codex:\n",
        "# Files mentioned by the user:\n\n## comb.py: /w/hive/comb.py\n\n## My request for Codex: ",
        "<user_instructions>\nuse tabs\n</user_instructions>\n\n",
        "<app-context>\nThe app shows a hive.\n</app-context>\n# Context from my IDE:\n\n## My request for Codex:\n",
    ],
)
def test_only_the_request_after_what_the_editor_adds_is_the_prompt(run: Run, tmp_path: Path, before: str) -> None:
    rollout = Rollout(tmp_path)
    rollout.prompt(f"{before}count the <hives>\n# and drones\n")
    rollout.message("Nine.", role="assistant")
    rollout.archive(run)
    assert prompts(run) == ["count the <hives>\n# and drones"]


def test_the_folder_that_only_the_environment_names_decides_what_is_excluded(run: Run, tmp_path: Path) -> None:
    run("exclude", "/w/secret")
    rollout = Rollout(tmp_path)
    rollout.prompt("count the hives")
    rollout.message("<environment_context>\n  <cwd>/w/secret</cwd>\n</environment_context>")
    rollout.prompt("count the coins")
    rollout.archive(run)
    assert prompts(run) == ["count the hives"]
