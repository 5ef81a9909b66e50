"""The cycle of a gateway's session: startup, refresh, warm, hot, compaction, recovery (ADR-0204, changes 1, 2, 5)."""

from pathlib import Path
from typing import Any

from conftest import Run, put
from conftest import at_minute as at

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
