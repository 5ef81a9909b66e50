"""What other agents and the client say in the user's name is found, but it is not the user's."""

from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import Run
from pi_session import PiSession

TEAMMATE = '<teammate-message teammate_id="lead" summary="a > b">{}</teammate-message>'
REPORT = (
    "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n"
    "<result>## Report\nThe dunlin cache leaks in heron.py:44.</result>\n</task-notification>"
)
IDLE = TEAMMATE.format('{"type": "idle_notification", "from": "dunlin"}')
QUEUED = {"type": "queued_command", "commandMode": "prompt", "prompt": '<agent-message from="x">The dunlin is stale.'}


def archived(run: Run, transcript: Transcript, query: str) -> tuple[int, list[str]]:
    """The number of the user's prompts, and what recall finds."""
    assert run("memory", "archive", str(transcript.path)).code == 0
    session = run("session", "show", SESSION, "--json").result
    return session["turnCount"], [hit["observation"] for hit in run("recall", query).result["hits"]]


@pytest.mark.parametrize(("line", "expected"), [
    ({"text": TEAMMATE.format("Test the dunlin commit-message.")}, "teammate: Test the dunlin commit-message."),
    (
        {"text": f"Another Claude session sent a message:\n{IDLE}\n{TEAMMATE.format('The dunlin is in.')}"},
        "teammate: The dunlin is in.",
    ),
    ({"text": TEAMMATE.format('{"type": "task_assignment", "subject": "Dunlin"}')}, "teammate: Dunlin"),
    ({"type": "attachment", "attachment": QUEUED}, "teammate: The dunlin is stale."),
    ({"text": REPORT, "isMeta": True}, "subagent: ## Report\nThe dunlin cache leaks in heron.py:44."),
    ({"text": "the dunlin is due", "origin": {"kind": "cron"}}, "client: the dunlin is due"),
    ({"type": "system", "subtype": "away_summary", "content": "Dunlin is merged."}, "client: Dunlin is merged."),
])  # fmt: skip
def test_what_others_say_is_found_as_theirs(
    run: Run, transcript: Transcript, line: dict[str, Any], expected: str
) -> None:
    transcript.user("open the gate")
    transcript.write(transcript.entry("user", line.get("text", "")) | line)
    turns, found = archived(run, transcript, "dunlin")
    assert (turns, found[:1]) == (1, [expected])


def test_a_report_that_is_queued_and_then_given_is_kept_once(run: Run, transcript: Transcript) -> None:
    transcript.user("open the gate")
    queued = {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": REPORT}
    transcript.write(queued, transcript.entry("user", REPORT))
    _, found = archived(run, transcript, "dunlin cache leaks")
    assert sum("heron.py:44" in text for text in found) == 1


@pytest.mark.parametrize("client", ["claude", "pi"])
def test_a_command_that_the_user_runs_is_a_call(run: Run, transcript: Transcript, client: str) -> None:
    command, output = "git tag -d v1.9-dunlin", "Deleted tag dunlin_gate_tag"
    if client == "claude":
        transcript.user("open the gate")
        transcript.user(f"<bash-input>{command}</bash-input>")
        transcript.user(f"<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>")
    else:
        shell = {"role": "bashExecution", "command": command, "output": output, "exitCode": 1}
        talk = PiSession(transcript.path)
        transcript.path.write_text(talk.path.read_text().replace("s-1", SESSION))
        talk.user("open the gate")
        talk.add("message", message=shell)
        talk.add("custom_message", customType="subagent-notify", content="dunlin")
    assert archived(run, transcript, "dunlin")[0] == 1
    assert run("how", "git tag").result["commands"][0]["outcome"] == ("" if client == "claude" else "failed")
    assert "dunlin_gate_tag" in run("recall", "dunlin_gate_tag", "--raw").out
    if client == "pi":
        assert "subagent: dunlin" in run("recall", "dunlin", "--raw").out
