"""What a gateway is told when it asks how things are, and its whole cycle (ADR-0204, changes 1, 2, 5)."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, put
from conftest import at_minute as at

from session import requests

TOPIC = "why does the telegram channel lose its session?"
OLD = "the gateway daemon drops telegram sessions when redis restarts; routing returns after compaction"
NEW = "the telegram channel now keeps its session in sqlite instead of redis"


def ask(run: Run, minutes: float, message: str, *words: str, role: str = "gateway") -> dict[str, Any]:
    options = ("--session", "gw", "--role", role, "--message", message, *words)
    return run("inject", "refresh", *options, env=at(minutes)).result


def begin(run: Run, *prompts: str, role: str = "gateway") -> None:
    run("memory", "write", OLD, env=at(-1))
    session = ("--session", "gw", "--role", role)
    run("inject", "memory", *session, env=at(0))
    messages = [word for prompt in prompts or (TOPIC,) for word in ("--message", prompt)]
    run("checkpoint", "save", *session, "--percent", "20", *messages, env=at(1))
    run("memory", "write", NEW, env=at(2))


def test_a_question_about_the_state_of_things_brings_a_refresh_at_once(run: Run) -> None:
    begin(run)
    result = ask(run, 9, "how's it going with telegram?")
    assert (result["injected"], result["trigger"]) == (True, "asked")
    assert NEW in result["content"] and OLD not in result["content"], "the session began with that"


@pytest.mark.parametrize("message", [
    "what's happening?", "Catch me up!", "status?", "any news?", "what's happening with the telegram channel?",
    "give me a status update please", "what did I miss", "where are we", "how are things going over there",
    "summary of today", "durum nedir?", "was ist los?",
    "Lagebericht bitte", "wie steht es denn so?", "¿qué está pasando?", "ponme al día", "quoi de neuf ?",
    "état des lieux", "che succede?", "статус", "как дела?", "что нового", "现在情况怎么样", "有什么新消息吗",
    "今どうなってる？", "何か変わった？",
    "STATUS", "status report please", "hoe staat het ervoor?", "what happened overnight?",
    "what is the current status of everything right now?", "상황 어때?", "update?", "fertig?", "прогресс?",
])  # fmt: skip
def test_people_ask_for_the_state_of_things_in_any_language(message: str) -> None:
    assert requests.asks_for_state(message)


@pytest.mark.parametrize("message", [
    "go on", "yes, do it please", "ok thanks!", "weiter", "sí, adelante", "继续", "続けて", "update the readme",
    "fix the status page", "deploy", "1+2", "why?", "show me src/a.py?",
    "why does the telegram channel lose its session?", "## 📋 Batch Digest: status", "🔔 Gateway status?",
    "HEARTBEAT status?",
])  # fmt: skip
def test_requests_replies_and_envelopes_ask_for_something_else(message: str) -> None:
    assert not requests.asks_for_state(message)


def test_none_in_the_first_five_minutes_or_for_another_role(run: Run) -> None:
    begin(run)
    assert ask(run, 4.9, "status")["reason"] == "not-due"
    assert ask(run, 9, "status", role="interactive")["reason"] == "not-due"


def test_without_a_topic_there_is_none(run: Run) -> None:
    begin(run, "HEARTBEAT\n\nTimestamp: 2026-09-21", "## 🔔 Gateway\n\nthe telegram channel is up", "¿qué pasa?")
    run("otel", "emit", "deploy.failed", "--level", "error", env=at(3))
    for minute, message in ((9, "what's happening?"), (11, "¿qué está pasando?")):
        result = ask(run, minute, message)
        assert (result["injected"], result["reason"]) == (False, "no-seed"), result


def test_what_failed_and_what_was_done_in_the_last_two_hours(run: Run) -> None:
    begin(run)
    failed = ("--level", "error", "--success", "false", "--source", "worker")
    run("otel", "emit", "old.failed", *failed, env=at(-130))
    for minute in (-60, -50):
        run("otel", "emit", "deploy.failed", *failed, "--error", "the mooring step broke", env=at(minute))
    for number in range(6):
        run("otel", "emit", f"job{number}.completed", "--source", "worker", env=at(-40))
    run("otel", "emit", "job5.completed", "--source", "worker", env=at(-30))
    run("otel", "emit", "noise", "--level", "debug", env=at(-30))
    run("otel", "emit", "hook.failed", "--component", "hook", *failed, env=at(-30))
    lines = ask(run, 9, "status")["content"].split("\n")
    where = lines.index("**Last 2 hours:**")
    assert lines[where + 1 : where + 3] == [
        "- error deploy.failed (worker) ×2, 59 min ago: the mooring step broke",
        "- job5.completed (worker) ×2, 39 min ago",
    ]
    assert [line.startswith("- job") for line in lines[where + 3 : where + 7]] == [True, True, True, False]
    assert not {"old", "noise", "hook.failed"} & set(" ".join(lines).split())


def test_todays_log_without_the_words_of_gateways(run: Run, home: Path) -> None:
    begin(run)
    for session, role, task in (
        ("other", "interactive", "move the whimbrel ledger to the new host"),
        ("gw", "gateway", ""),
        ("gw-before", "gateway", "who restarted the plover daemon last night?"),
    ):
        run("checkpoint", "save", "--session", session, "--role", role, "--percent", "70", "-m", task, env=at(3))
        run("checkpoint", "flush", "--session", session, "--percent", "90", env=at(4))
    (log,) = (home / "workspace" / "memory").iterdir()
    with log.open("a") as file:
        file.write("\n## The auditors come on Friday\n\n- lock the doors\n")
    content = ask(run, 9, "status")["content"]
    (today,) = [part.split("\n**")[0] for part in content.split("**Today:**\n")[1:]]
    assert today.split("\n")[0].endswith("move the whimbrel ledger to the new host")
    assert "- The auditors come on Friday: - lock the doors" in today
    assert "telegram" not in today and "plover" not in content


def test_a_refresh_replaces_the_one_before_and_comes_only_for_news(run: Run) -> None:
    begin(run)
    run("otel", "emit", "deploy.failed", "--level", "error", "--source", "worker", env=at(3))
    assert "replaces" not in ask(run, 9, "status")["content"]
    assert ask(run, 11, "status")["reason"] == "no-results", "nothing happened since"
    run("otel", "emit", "deploy.completed", "--source", "worker", env=at(12))
    lines = ask(run, 14, "status")["content"].split("\n")
    assert lines[1:3] == ["## Context Refresh", "This replaces the one before."]
    for known in ("error deploy.failed (worker)", "deploy.completed (worker)", NEW):
        assert known in "\n".join(lines), "all of it, since the agent shall forget the one before"
    run("inject", "recovery", "--session", "gw", env=at(16))
    assert "replaces" not in ask(run, 20, "status")["content"], "the compaction has dropped it"


def test_a_hook_of_a_gateway_answers_the_question(run: Run, home: Path) -> None:
    run("memory", "write", OLD, "--global", env=at(0))

    def prompt(minutes: float, text: str) -> str:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "gw", "prompt": text, "cwd": "/srv"}
        return run("hook", "claude", stdin=json.dumps(event), env={**at(minutes), "JOELCLAW_ROLE": "gateway"}).out

    prompt(0, TOPIC)
    run("memory", "write", NEW, "--global", env=at(2))
    run("otel", "emit", "deploy.failed", "--level", "error", "--source", "worker", env=at(3))
    answer = prompt(7, "what's happening?")
    assert NEW in answer and "error deploy.failed (worker)" in answer


SESSION = "gw"
QUERY = "gateway daemon telegram redis session routing compaction"
ROUTING = "The gateway daemon drops a telegram session when redis is restarted; routing comes back after compaction"
VOICE = "The livekit voice agent needs a second worker, since rooms stay open for an hour"
TASK = "Why does the telegram channel of the gateway lose its session?"
DIGEST = "## 📋 Batch Digest — 2026-09-21\n\n14 event(s) since last digest:\n- livekit voice agent: 14"
HEARTBEAT = "HEARTBEAT\n\nTimestamp: 2026-09-21T10:00:00\n\n# livekit voice agent worker rooms"


def call(run: Run, minutes: float, *words: str, role: tuple[str, ...] = ("--role", "gateway")) -> dict[str, Any]:
    return run(*words, "--session", SESSION, *role, env=at(minutes)).result


def actions(run: Run, minutes: float) -> list[tuple[str, str]]:
    words = ("otel", "list", "--session", SESSION, "--hours", "9", "--limit", "50")
    events = run(*words, env=at(minutes)).result["events"]
    return [(event["action"], event["source"]) for event in reversed(events)]


def test_the_whole_cycle(run: Run, home: Path) -> None:
    for text in (ROUTING, VOICE):
        run("memory", "write", text, env=at(0))
    started = call(run, 0, "inject", "memory")
    assert (started["query"], started["injected"]) == (QUERY, True)
    assert ROUTING in started["content"] and "voice" not in started["content"]
    call(run, 1, "checkpoint", "save", "--percent", "20", "-m", TASK)
    for minute, automated in ((2, DIGEST), (3, HEARTBEAT)):
        call(run, minute, "checkpoint", "save", "--percent", "30", "-m", automated)
    assert call(run, 5, "checkpoint", "save", "--percent", "45")["entered"] == ["warm"]
    half = call(run, 6, "inject", "refresh", "--percent", "52", "--message", HEARTBEAT)
    assert half["trigger"] == "half-full"
    assert half["query"] == TASK.rstrip("?") + "?", "the automated messages are no seeds"
    assert call(run, 8, "checkpoint", "save", "--percent", "65")["entered"] == ["hot"]
    call(run, 9, "checkpoint", "flush", "--percent", "85")
    recovered = call(run, 10, "inject", "recovery")
    assert (recovered["customType"], recovered["gwCompactionCount"]) == ("gateway-recovery", 1)
    again = call(run, 10.5, "inject", "recovery")
    assert (again["reason"], again["gwCompactionCount"]) == ("rapid-recompaction", 2)
    quiet = call(run, 10.9, "inject", "refresh", "--message", "what's happening?")
    assert quiet["reason"] == "not-due", "the recovery is still there"
    run("memory", "write", f"{ROUTING}; the operator restarts it", "--global", env=at(60))
    after = call(run, 75, "inject", "refresh", "--message", TASK, role=())
    assert after["trigger"] == "idle" and "the operator restarts it" in after["content"]
    actual = actions(run, 76)
    assert {source for _, source in actual} == {"gateway"}, "the role is kept"
    names = [action for action, _ in actual if not action.startswith("memory.recall.")]
    expected = [
        "gateway.compaction.extract.warm", "gateway.compaction.extract.hot", "gateway.compaction.before",
        "gateway.compaction.checkpoint", "gateway.compaction.inject", "gateway.compaction.inject.skipped",
    ]  # fmt: skip
    assert [name for name in names if "compaction" in name] == expected
    assert names.count("context.refresh.injected") == (2 if half["injected"] else 1)


def vault(folder: Path) -> dict[str, str]:
    """A vault with two decisions; the variable that names it."""
    for name, title, text in (
        ("0203-recovery", "ADR-0203: Recovery pointers", "What a compaction loses comes back by pointers."),
        ("0204-context", "ADR-0204: Seamless context", "The gateway looks around every half hour."),
    ):
        put(folder / "docs" / "decisions" / f"{name}.md", f"---\nstatus: accepted\n---\n# {title}\n\n{text}\n")
    return {"VAULT_PATH": str(folder)}


def refresh(run: Run, message: str, minutes: float, env: dict[str, str], role: str = "gateway") -> dict[str, Any]:
    words = ("inject", "refresh", "--session", f"{SESSION}-{role}", "--role", role, "--message", message)
    return run(*words, env={**env, **at(minutes)}).result


def test_a_prompt_to_a_gateway_gets_the_notes_that_it_names(run: Run, tmp_path: Path) -> None:
    env = vault(tmp_path / "Vault")
    decision = tmp_path / "Vault" / "docs" / "decisions" / "0203-recovery.md"
    named = refresh(run, "please tell me what ADR-203 says on the pointers", 1, env)
    assert f"**In the vault:**\n- ADR-0203: Recovery pointers: {decision}\n" in named["content"]
    assert named["trigger"] == "named"
    assert refresh(run, "and what else does ADR-203 say on the pointers", 2, env)["injected"] is False, "told once"
    other = tmp_path / "Vault" / "docs" / "decisions" / "0204-context.md"
    by_path = refresh(run, f"read {other} and summarize what it wants", 3, env)
    assert f"- ADR-0204: Seamless context: {other}" in by_path["content"]
    assert refresh(run, "please tell me what ADR-203 says on the pointers", 1, env, "interactive")["injected"] is False
    assert refresh(run, "please tell me what ADR-999 says on the pointers", 4, env)["injected"] is False


def test_a_prompt_to_a_gateway_gets_the_memory_that_answers_it(run: Run) -> None:
    for text in (ROUTING, VOICE):
        run("memory", "write", text, env=at(0))
    answer = refresh(run, TASK, 1, {})
    assert ROUTING in answer["content"]
    assert VOICE not in answer["content"]
    assert refresh(run, TASK, 2, {})["injected"] is False, "it has that"
    assert refresh(run, TASK, 1, {}, "interactive")["injected"] is False
    assert refresh(run, "ok, thanks, sounds good to me", 3, {})["injected"] is False
