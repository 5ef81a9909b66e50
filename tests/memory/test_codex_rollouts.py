"""What is archived of Codex's rollouts: the user's own words, and the commands and edits in scripts (code mode)."""

import json
from pathlib import Path
from typing import Any

import apsw
import codex_rollout
import pytest
from conftest import Run

from core.records import Call
from core.store import calls as stored_calls

SESSION = "019a0000-0000-7000-8000-00000000000c"


class Rollout(codex_rollout.Rollout):
    """A rollout, with or without events that repeat what the user typed."""

    def __init__(self, folder: Path, *, events: str = "user_message", session: str = SESSION, **meta: Any) -> None:
        super().__init__(folder, session, **{"cwd": "/w/hive", **meta})
        self.events = events

    def prompt(self, *texts: str) -> None:
        self.say("user", *texts)
        if self.events == "user_message":
            self.add("event_msg", type="user_message", message=texts[0], images=[])
        elif self.events:
            item = {"type": self.events, "content": [{"type": "text", "text": texts[0]}]}
            self.add("event_msg", type="item_completed", item=item)

    def script(self, number: int, source: str) -> None:
        self.item("custom_tool_call", call_id=f"c{number}", name="exec", input=source)

    def printed(self, number: int, *texts: str, status: str = "Script completed") -> None:
        head = f"{status}\nWall time 0.1 seconds\nOutput:\n"
        parts = [{"type": "input_text", "text": text} for text in (head, *texts)]
        self.item("custom_tool_call_output", call_id=f"c{number}", output=parts)

    def wait(self, number: int, cell: str, output: str) -> None:
        self.call(f"w{number}", output, "wait", cell_id=cell)

    def archive(self, run: Run) -> dict[str, Any]:
        return run("memory", "archive", str(self.path)).result


def prompts(run: Run) -> list[str]:
    rows = map(json.loads, run("memory", "export", "--collection", "episodes").out.splitlines())
    return [row["text"].removeprefix("user: ") for row in rows if row["text"].startswith("user: ")]


@pytest.mark.parametrize("events", ["user_message", "UserMessage", ""])
@pytest.mark.parametrize("text", [
    "<recommended_plugins>\nwhimbrel-tools\n</recommended_plugins>",
    '<app-context kind="desktop">\nThe app shows a hive.\n</app-context>',
    "# AGENTS.md instructions for /w/hive\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>",
    "<permissions>ask first</permissions>",
])  # fmt: skip
def test_messages_that_codex_writes_for_the_user_are_no_prompts(
    run: Run, tmp_path: Path, events: str, text: str
) -> None:
    rollout = Rollout(tmp_path, events=events)
    rollout.say("user", text, "<environment_context>\n  <cwd>/w/hive</cwd>\n</environment_context>")
    rollout.prompt("count the hives")
    rollout.say("assistant", "Nine.")
    rollout.say("user", text)
    rollout.say("assistant", "Still nine.")
    rollout.archive(run)
    assert prompts(run) == ["count the hives"]


def test_a_message_in_the_users_name_that_no_event_repeats_is_no_prompt(run: Run, tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.say("user", "Warning: the process limit is near.")
    rollout.prompt("<task>count the hives</task>")
    rollout.prompt("and the drones", "[the client adds this]")
    rollout.say("assistant", "Nine.")
    rollout.archive(run)
    assert prompts(run) == ["<task>count the hives</task>", "and the drones"]


@pytest.mark.parametrize("before", [
    "# Context from my IDE setup:\n\n## Open tabs:\n- comb.py\n\n## My request for Codex:\n",
    "# Files mentioned by the user:\n\n## comb.py: /w/hive/comb.py\n\n## My request for Codex: ",
    "<user_instructions>\nuse tabs\n</user_instructions>\n\n",
    "<app-context>\nThe app shows a hive.\n</app-context>\n# Context from my IDE:\n\n## My request for Codex:\n",
])  # fmt: skip
def test_only_the_request_after_what_the_editor_adds_is_the_prompt(run: Run, tmp_path: Path, before: str) -> None:
    rollout = Rollout(tmp_path)
    rollout.prompt(f"{before}count the <hives>\n# and drones\n")
    rollout.say("assistant", "Nine.")
    rollout.archive(run)
    assert prompts(run) == ["count the <hives>\n# and drones"]


def test_the_folder_that_only_the_environment_names_decides_what_is_excluded(run: Run, tmp_path: Path) -> None:
    run("exclude", "/w/secret")
    rollout = Rollout(tmp_path)
    rollout.prompt("count the hives")
    rollout.say("user", "<environment_context>\n  <cwd>/w/secret</cwd>\n</environment_context>")
    rollout.prompt("count the coins")
    rollout.archive(run)
    assert prompts(run) == ["count the hives"]


def stored(home: Path, *, passages: bool = False) -> list[Call]:
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    return stored_calls.of_session(db, SESSION, passages=passages)


def calls(home: Path) -> list[tuple[str, str, str]]:
    return [(row["file"] or row["command"] or row["tool"], row["outcome"], row["error"]) for row in stored(home)]


COMMAND = 'const r = await tools.exec_command({cmd: "make test", workdir: "/w/hive"}); text(r)'


@pytest.mark.parametrize(("status", "printed", "outcome"), [
    ("Script completed", ["9 hives"], "ok"),
    ("Script completed", ['{"chunk_id":"1","exit_code":2,"output":"comb.py:3: wax is soft"}'], "failed"),
    ("Script completed", ["exit code: 2", "comb.py:3: wax is soft"], "failed"),
    ("Script completed", ["exit 0", "error: none at all"], "ok"),
    ("Script completed", ["error: wax is soft"], ""),
    ("Script failed", ["Script error:\nError: wax is soft"], "failed"),
    ("Script running with cell ID 3", [], "running"),
])  # fmt: skip
def test_a_command_in_a_script_has_the_outcome_that_the_script_printed(
    run: Run, tmp_path: Path, home: Path, status: str, printed: list[str], outcome: str
) -> None:
    rollout = Rollout(tmp_path)
    rollout.script(1, COMMAND)
    rollout.printed(1, *printed, status=status)
    rollout.archive(run)
    ((command, found, error),) = calls(home)
    assert (command, found) == ("make test", outcome)
    assert ("wax is soft" in error) == (outcome == "failed")


@pytest.mark.parametrize("form", ["dict", "json", "plain"])
def test_outputs_of_scripts_have_several_forms(run: Run, tmp_path: Path, home: Path, form: str) -> None:
    rollout = Rollout(tmp_path)
    rollout.script(1, COMMAND)
    texts = ("Script failed\nWall time 0.1 seconds\nOutput:\n", "Script error:\nError: wax is soft")
    parts = [{"type": "input_text", "text": text} for text in texts]
    output = {"dict": {"content": parts}, "json": json.dumps(parts), "plain": "".join(texts)}[form]
    rollout.item("custom_tool_call_output", call_id="c1", output=output)
    rollout.archive(run)
    assert calls(home) == [("make test", "failed", "Error: wax is soft")]


def test_every_call_of_a_script_is_a_call(run: Run, tmp_path: Path, home: Path) -> None:
    rollout = Rollout(tmp_path)
    patch = "*** Begin Patch\\n*** Update File: comb.py\\n@@\\n-a\\n+wax_cell = 6\\n*** End Patch"
    rollout.script(
        1,
        f"""await tools.apply_patch("{patch}");
        const run = {{cmd: "make test"}}, lint = tools.exec_command({{cmd: "make lint"}});
        const rs = await Promise.all([lint, tools.exec_command(run)]);
        text(JSON.stringify(rs))""",
    )
    changes = {"/w/hive/comb.py": {"type": "update", "unified_diff": "@@ -1,1 +1,1 @@\n-a\n+wax_cell = 6\n"}}
    rollout.add("event_msg", type="patch_apply_end", call_id="exec-1", success=True, changes=changes)
    rollout.printed(1, json.dumps([{"exit_code": code, "output": f"exit was {code}"} for code in (0, 2)]))
    rollout.script(2, "await tools.exec_command({cmd: load('next')})")
    rollout.printed(2)
    assert rollout.archive(run)["calls"] == 4
    assert calls(home) == [
        ("comb.py", "ok", ""), ("make lint", "ok", ""), ("make test", "failed", "exit was 2"),
        ("exec_command", "", ""),
    ]  # fmt: skip
    assert "comb.py: wax_cell:1" in run("recall", "--raw", "wax_cell").out


@pytest.mark.parametrize("is_read_in_two", [False, True])
def test_what_a_wait_returns_completes_the_script(run: Run, tmp_path: Path, home: Path, is_read_in_two: bool) -> None:
    rollout = Rollout(tmp_path)
    rollout.script(1, COMMAND)
    rollout.printed(1, status="Script running with cell ID 7")
    rollout.wait(1, "7", "Script running with cell ID 7\nWall time 9.0 seconds\nOutput:\n")
    if is_read_in_two:
        rollout.archive(run)
    end = "Script completed\nWall time 1.0 seconds\nOutput:\n"
    rollout.wait(2, "7", end + '{"exit_code":2,"output":"error: wax_cell is soft"}')
    rollout.archive(run)
    assert calls(home) == [("make test", "failed", "error: wax_cell is soft"), ("wait", "ok", ""), ("wait", "ok", "")]
    assert "wax_cell is soft" in stored(home, passages=True)[0]["passage"]


def test_the_exit_codes_that_newer_versions_record_are_used(run: Run, tmp_path: Path, home: Path) -> None:
    rollout = Rollout(tmp_path, events="UserMessage")
    rollout.script(1, "for (const cmd of load('x')) text((await tools.exec_command({cmd})).output)")
    item = {"type": "CommandExecution", "id": "exec-1", "process_id": "9", "command": ["bash", "-lc", "make test"]}
    rollout.add("event_msg", type="item_completed", item={**item, "exit_code": 2, "aggregated_output": "wax is soft"})
    rollout.printed(1, "wax is soft")
    rollout.archive(run)
    assert calls(home) == [("make test", "failed", "wax is soft")]


def hook(run: Run, event: str, rollout: Rollout, **fields: Any) -> None:
    payload = {"hook_event_name": event, "session_id": SESSION, "transcript_path": str(rollout.path), "cwd": "/w/hive"}
    run("hook", "codex", stdin=json.dumps({**payload, **fields}))


def test_an_interrupted_turn_is_archived(run: Run, tmp_path: Path) -> None:
    rollout = Rollout(tmp_path)
    rollout.prompt("count the hives")
    hook(run, "Interrupt", rollout)
    assert prompts(run) == ["count the hives"]


@pytest.mark.parametrize("is_off", [False, True])
def test_a_subagent_that_ends_is_archived_as_a_session_of_its_own(
    run: Run, tmp_path: Path, home: Path, is_off: bool
) -> None:
    agent = SESSION[:-1] + "d"
    subagent = Rollout(tmp_path, session=agent, source={"subagent": {"thread_spawn": {"parent_thread_id": SESSION}}})
    subagent.prompt("count the drones")
    subagent.say("assistant", "There are nine.")
    if is_off:
        run("off", "--session", SESSION)
    hook(run, "SubagentStop", Rollout(tmp_path), agent_id=agent, agent_transcript_path=str(subagent.path))
    found = run("recall", "--raw", "--session", agent, "drones").out
    assert ("There are nine." in found) != is_off
    assert not list(home.glob(f"sessions/*{agent}*")), "it is compacted by nobody"


def test_what_a_subagent_is_asked_is_not_the_users_request(run: Run, tmp_path: Path) -> None:
    """Codex names the parent's session in a subagent's events, and the subagent's rollout."""
    agent = SESSION[:-1] + "d"
    parent = Rollout(tmp_path)
    parent.prompt("count the hives")
    hook(run, "UserPromptSubmit", parent, prompt="count the hives")
    subagent = Rollout(tmp_path, session=agent, source={"subagent": {"thread_spawn": {"parent_thread_id": SESSION}}})
    subagent.prompt("count the drones")
    hook(run, "UserPromptSubmit", subagent, agent_id=agent, prompt="count the drones")
    subagent.say("assistant", "There are nine.")
    hook(run, "SubagentStop", parent, agent_id=agent, agent_transcript_path=str(subagent.path))
    assert [row["sessionId"] for row in run("session", "list").result["sessions"]] == [SESSION]
    assert "drones" not in run("inject", "recovery", "--session", SESSION, "--raw").out
    assert run("session", "show", agent).result["kind"] == "subagent"
    run("otel", "emit", "hive.counted", "--session", agent)
    assert run("otel", "search", "hive.counted", "--client", "codex").result["found"] == 1


@pytest.mark.parametrize("folder", ["/gone/hive-hot", "/gone/hive-hot/src", "C:\\gone\\hive-hot"])
@pytest.mark.parametrize("url", ["git@github.com:acme/hive.git", "https://github.com/acme/hive"])
@pytest.mark.parametrize("by_hook", [False, True])
def test_a_worktree_that_is_gone_belongs_to_the_project_of_its_remote(
    run: Run, tmp_path: Path, folder: str, url: str, by_hook: bool
) -> None:
    rollout = Rollout(tmp_path, cwd=folder, git={"repository_url": url, "branch": "hot"})
    rollout.prompt("count the drones")
    for _ in range(2):
        rollout.say("assistant", "There are nine.")
        if by_hook:
            hook(run, "Stop", rollout, cwd=folder)
        else:
            run("memory", "archive", str(rollout.path))
    assert [row["project"] for row in run("session", "list").result["sessions"]] == ["acme/hive"]
    assert {hit["project"] for hit in run("recall", "drones", "--project", "acme/hive").result["hits"]} == {"acme/hive"}
