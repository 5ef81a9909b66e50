"""What a gateway is told when it asks how things are, and after a pause (ADR-0204, change 2)."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
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


@pytest.mark.parametrize("message", [
    "what's happening?", "status", "STATUS", "was ist los?", "how's it going with telegram?", "status report please",
    "what is the current status of everything right now?", "what happened overnight?", "hoe staat het ervoor?",
])  # fmt: skip
def test_a_question_about_the_state_of_things_brings_a_refresh_at_once(run: Run, message: str) -> None:
    begin(run)
    result = ask(run, 9, message)
    assert (result["injected"], result["trigger"]) == (True, "asked")
    assert NEW in result["content"] and OLD not in result["content"], "the session began with that"


@pytest.mark.parametrize("message", [
    "what's happening?", "Catch me up!", "status?", "any news?", "what's happening with the telegram channel?",
    "give me a status update please", "what did I miss", "where are we", "how are things going over there",
    "summary of today", "durum nedir?", "was ist los?",
    "Lagebericht bitte", "wie steht es denn so?", "¿qué está pasando?", "ponme al día", "quoi de neuf ?",
    "état des lieux", "che succede?", "статус", "как дела?", "что нового", "现在情况怎么样", "有什么新消息吗",
    "今どうなってる？", "何か変わった？",
    "상황 어때?", "update?", "fertig?", "прогресс?",
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
