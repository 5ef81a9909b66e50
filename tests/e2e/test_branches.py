"""Forks, subagents and rewinds of real clients: every message is found once, in the session in which it was said."""

import json
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import clean_environment

from .session import Workplace, scenarios  # isort: skip  # adds tests/agents to sys.path
import harness
from harness import Child, Run
from real_clients import claude, codex

FIRST, SECOND, THIRD = "where is the kestrel buffer", "write the osprey table", "count the plover rows"
OTHER = "try the gannet way"
ASKED, FOUND = "find the heron table", "The heron table is in delta.sql"
USAGE = {"input": 900, "output": 20}
BACK = """\
export default (pi) => { pi.registerCommand("back", {handler: async (_given, ctx) => {
  const said = ctx.sessionManager.getBranch().filter((one) => one.type === "message" && one.message.role === "user");
  await ctx.navigateTree(said.at(-1).id, {summarize: false});
}}); };
"""
FORKS = {  # the arguments of a prompt in a session, and in a fork of it
    "claude": (["--resume", "{}"], ["--resume", "{}", "--fork-session"]),
    "codex": (["resume", "{}"], ["fork", "{}"]),
    "opencode": (["--session", "{}"], ["--session", "{}", "--fork"]),
    "qwen": (["--resume", "{}"], ["--resume", "{}", "--fork-session"]),
    "pi": (["--session", "{}"], ["--fork", "{}"]),
}
SPAWN = {
    "claude": ("Agent", {"description": "look", "prompt": ASKED, "subagent_type": "general-purpose"}),
    "codex": ("multi_agent_v1/spawn_agent", {"message": ASKED}),
    "opencode": ("task", {"description": "look", "prompt": ASKED, "subagent_type": "general"}),
    "qwen": ("agent", {"description": "look", "prompt": ASKED, "subagent_type": "general-purpose"}),
    "copilot": ("task", {"description": "look", "prompt": ASKED, "agent_type": "general-purpose", "name": "heron"}),
}


class Talk(Workplace):
    """A client with our hooks, a process for each prompt, and a model that says these replies."""

    def __init__(self, agent: str, folder: Path, *replies: dict[str, Any]) -> None:
        super().__init__(agent, folder)
        self.install()
        self.allow_slow_hooks()
        default = {"text": FOUND, "usage": USAGE}
        steps = [{"usage": USAGE, **reply} for reply in replies]
        script = {"rules": [scenarios.TITLE], "steps": steps, "default": default, "client": {"contextWindow": 200_000}}
        if agent == "codex":
            script["client"]["autoCompactAt"] = 180_000
        env = {"JOELCLAW_HOME": str(self.memory), "JOELCLAW_HOOK_DEADLINE_MS": "60000"}
        self.run = Run(agent, script, folder, env=env)
        self.run.client.configure(self.run)

    def say(self, prompt: str, *more: str, then: str = "") -> None:
        """Run the client with a prompt, in pi perhaps with two."""
        prompts = [prompt, then] if then else [prompt]
        begin: list[Any] = {
            "claude": [*claude.ARGUMENTS, "--output-format", "stream-json"],
            "codex": ["exec", "--profile", "mock"],
            "opencode": ["run", "--format", "json"],
            "qwen": ["--yolo", "--output-format", "stream-json"],
            "copilot": ["--allow-all-tools", "--allow-all-paths"],
            "pi": ["--provider", "mock", "--model", "mock-1"],
        }[self.client]
        if self.client == "codex":
            begin, more = [*begin, *more[:1], *codex.FLAGS], more[1:]
        end = ["-p", *prompts] if self.client in ("qwen", "copilot", "pi") else prompts
        child = Child(self.run, [self.run.command, *begin, *more, *end])
        try:
            child.until(lambda _value: False)
        finally:
            child.finish()
        assert not any(self.run.exit_codes)

    def sessions(self) -> dict[str, dict[str, Any]]:
        """The user's sessions, by kind, once everything is archived."""
        self.joelclaw("memory", "archive", "--all")
        return {row["kind"]: row for row in self.joelclaw("session", "list")["sessions"]}

    def said(self) -> list[dict[str, Any]]:
        done = subprocess.run(
            ["joelclaw", "memory", "export", "--collection", "episodes"], executable=self.command, cwd=self.project,
            env={**clean_environment(self.memory), "HOME": str(self.home)}, capture_output=True, check=True,
        )  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]

    def of(self, text: str) -> list[tuple[str, bool]]:
        """The session of each message with a text, and whether it was abandoned."""
        return [(row["session"], "abandoned" in (row.get("tags") or ())) for row in self.said() if text in row["text"]]


@pytest.fixture
def talk(agent: str, tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    talks: list[Talk] = []

    def begin(*replies: dict[str, Any]) -> Talk:
        talks.append(Talk(agent, tmp_path, *replies))
        return talks[0]

    yield begin
    for place in talks:
        place.run.mock.shutdown()
        place.run.mock.server_close()


@pytest.mark.agents(*FORKS)
def test_a_fork_has_only_what_was_said_in_it(agent: str, talk: Callable[..., Talk]) -> None:
    place = talk()
    go_on, fork = FORKS[agent]
    place.say(FIRST)
    main = place.sessions()["main"]["sessionId"]
    for prompt in (SECOND, THIRD):
        place.say(prompt, *(word.format(main) for word in go_on))
    place.say(OTHER, *(word.format(main) for word in fork))
    found = place.sessions()
    assert set(found) == {"main", "fork"}
    assert (found["main"]["sessionId"], found["fork"]["parent"]) == (main, main)
    child = found["fork"]["sessionId"]
    expected = {FIRST: main, SECOND: main, THIRD: main, OTHER: child}
    assert {text: place.of(text) for text in expected} == {text: [(name, False)] for text, name in expected.items()}


@pytest.mark.agents(*SPAWN)
def test_what_a_subagent_is_asked_is_not_the_users_task(agent: str, talk: Callable[..., Talk]) -> None:
    name, given = SPAWN[agent]
    place = talk({"text": "I ask.", "tool_calls": [{"name": name, "args": given}]})
    place.say("how large is the delta")
    found = place.sessions()
    assert set(found) == {"main"}
    main = found["main"]["sessionId"]
    assert found["main"]["task"] == "how large is the delta"
    assert place.of("how large is the delta") == [(main, False)]
    asked = {session for session, _ in place.of(ASKED)}
    if agent in ("claude", "codex", "opencode"):  # the others keep a subagent's words elsewhere, or in the parent's log
        (child,) = asked
        about = place.joelclaw("session", "show", child)
        assert (about["kind"], about["parent"]) == ("subagent", main)
    note = place.joelclaw("inject", "recovery", "--session", main)["content"]
    assert '**Task:** "how large is the delta"' in note and ASKED not in note


@pytest.mark.agents("claude", "codex", "opencode", "pi")
def test_going_back_abandons_what_was_said(agent: str, talk: Callable[..., Talk]) -> None:
    place = talk({"text": "It is in alpha.py"}, {"text": "In beta.py"}, {"text": "It works in gamma.py"})
    go_on = FORKS[agent][0]
    place.say(FIRST)
    main = place.sessions()["main"]["sessionId"]
    same = [word.format(main) for word in go_on]
    place.say(SECOND, *same)
    if agent == "claude":
        (path,) = place.home.glob(f".claude/projects/*/{main}.jsonl")
        answers = [row["uuid"] for row in harness.objects(path) if row.get("type") == "assistant"]
        place.say(OTHER, *same, "--resume-session-at", answers[0])
    elif agent == "codex":
        revert(place, main)
        place.say(OTHER, *same)
    elif agent == "pi":
        (place.folder / "back.ts").write_text(BACK)
        place.say("/back", "-e", str(place.folder / "back.ts"), *same, then=OTHER)
    else:
        say_after_undo(place, main)
    found = place.sessions()
    assert set(found) == {"main"}
    assert {text: place.of(text) for text in (FIRST, SECOND, "In beta.py", OTHER)} == {
        FIRST: [(main, False)], SECOND: [(main, True)], "In beta.py": [(main, True)], OTHER: [(main, False)],
    }  # fmt: skip
    note = place.joelclaw("inject", "recovery", "--session", main)["content"]
    assert OTHER in note and "osprey" not in note


def revert(place: Talk, session: str) -> None:
    """Take back the last turn, as a program that shows Codex does it."""
    folder = place.home / ".codex"
    (folder / "config.toml").write_text((folder / "mock.config.toml").read_text())
    server = Child(place.run, [place.run.command, "app-server"], stdin=True)

    def ask(method: str, **params: Any) -> Any:
        server.send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        answer = server.until(lambda value: value.get("id") == method)
        return answer and answer["result"]

    try:
        about = {"name": "test", "version": "1"}
        ask("initialize", clientInfo=about, capabilities={"experimentalApi": True})
        server.send({"jsonrpc": "2.0", "method": "initialized"})
        ask("thread/resume", threadId=session)
        turns = ask("thread/turns/list", threadId=session)["data"]  # the newest first
        ask("thread/revert", threadId=session, beforeTurnId=turns[0]["id"])
    finally:
        server.finish()


def say_after_undo(place: Talk, session: str) -> None:
    """What `/undo` and the next prompt do in OpenCode's screen, through its server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Child(place.run, [place.run.command, "serve", "--port", port])

    def ask(path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{port}/session/{session}/{path}"
        request = urllib.request.Request(url, data, {"content-type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
            return json.load(answer)

    try:
        while "listening" not in (server.lines.get(timeout=place.run.remaining_s()) or "listening"):
            pass
        prompts = [row["info"]["id"] for row in ask("message") if row["info"]["role"] == "user"]
        ask("revert", {"messageID": prompts[-1]})
        ask("message", {"parts": [{"type": "text", "text": OTHER}]})
    finally:
        harness.stop(server.process)
        server.err.close()
