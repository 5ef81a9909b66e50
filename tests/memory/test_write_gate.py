"""The write gate: annotations, and our rules where there is none."""

from __future__ import annotations

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from memory import gate

DURABLE = [
    "Joel prefers pnpm over npm", "make check SEED=1 replays the failing run", "docker compose up -d",
    "packages/cli/src/foo.ts holds the parser", "2026-03-09: the team chose Postgres", "Node 22.1, pnpm 9, port 3000",
    "Perfect forward secrecy is required", "Let me know when the build is red, says Ana",
    "Yes Minister is her favourite show", "用户喜欢深色模式", "Пользователь предпочитает тёмную тему",
    "ผู้ใช้ชอบโหมดมืด", "المستخدم يفضل الوضع الداكن", "ユーザーはダークモードが好き",
    "Task: fix the login bug; add tests | Files: src/a.ts, src/b.ts", "ECONNREFUSED means that the broker is down",
]  # fmt: skip


@pytest.mark.parametrize("text", DURABLE)
def test_durable_facts_are_allowed(text: str) -> None:
    judged = gate.judge(text)
    assert judged["verdict"] == "allow", judged
    assert judged["text"] == text
    assert judged["fallback"] is True


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("ok then", "discard"), ("Got it, thanks!", "discard"), ("Done. The port of the gateway is 8089.", "hold"),
        ("## Plan Summary\n1. read the files", "discard"), ("Should I: (a) rename it or (b) leave it", "discard"),
        ("Let me check the logs first.", "discard"), ("I've updated the three files as you asked", "hold"),
        ('<tool_call>{"name": "bash"}</tool_call>', "discard"), ("2026-01-01T10:00:00Z INFO server started", "hold"),
        ("[12:00:01.123] [error] boom\n[12:00:02.456] [info] up", "hold"), ("took 12ms, 4.2MB, 93% busy", "hold"),
        ('{"a": 1, "b": [1, 2, {"c": "d"}]}', "discard"), ("550e8400-e29b-41d4-a716-446655440000", "discard"),
        ("TODO: fix this later", "discard"), ("FIXME: the lease is never given back", "discard"),
        ("What port does the gateway use?", "hold"), ("Wie lange? Und warum?", "hold"),
    ],
)  # fmt: skip
def test_noise_is_held_or_discarded(text: str, verdict: str) -> None:
    judged = gate.judge(text)
    assert judged["verdict"] == verdict, judged
    assert judged["reason"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[gate=hold confidence=.4 category=jc:x reason=too vague] the text", ("hold", 0.4, "jc:x", "too vague")),
        ("🔴 [verdict=discard conf=0.9 reason=\"a ] b, c=d\"] the text", ("discard", 0.9, "", "a ] b, c=d")),
        ("🟢[gate=allow] the text", ("allow", 0.65, "", "annotated")),
        ("🟡 [ gate = allow, confidence = 80% ] the text", ("allow", 0.8, "", "annotated")),
        ("[GATE=ALLOW confidence=7] the text", ("allow", 0.65, "", "annotated")),
        ("[reason='it lasts' category=prefs gate=allow]\n the text", ("allow", 0.65, "prefs", "it lasts")),
    ],
)  # fmt: skip
def test_annotations(text: str, expected: tuple[str, float, str, str]) -> None:
    judged = gate.judge(text)
    assert (judged["verdict"], judged["confidence"], judged["category"], judged["reason"]) == expected
    assert (judged["text"], judged["fallback"]) == ("the text", False)


@given(st.text(min_size=1, max_size=200).map(str.strip).filter(bool))
def test_any_text_gets_a_verdict_with_a_reason(text: str) -> None:
    judged = gate.judge(text)
    assert judged["verdict"] in gate.VERDICTS
    assert 0 <= judged["confidence"] <= 1
    assert 0 < len(judged["reason"]) <= 120


def test_the_verdict_is_stored_and_keeps_a_memory_from_recall(run: Run) -> None:
    held = run("memory", "write", "[gate=hold reason=unsure] the zebra cache may be cold").result
    gone = run("memory", "write", "[gate=discard] the zebra cache printed a line").result
    kept = run("memory", "write", "The zebra cache is cleared every night").result
    assert [hit["id"] for hit in run("recall", "zebra cache").result["hits"]] == [kept["id"]]
    more = run("recall", "zebra cache", "--include-hold", "--include-discard").result["hits"]
    assert {hit["id"] for hit in more} == {held["id"], gone["id"], kept["id"]}
    shown = run("memory", "show", held["id"]).result
    told = [shown[name] for name in ("verdict", "reason", "gateVersion", "gateFallback")]
    assert told == ["hold", "unsure", "v1", False]
    assert shown["observation"] == "the zebra cache may be cold"


@pytest.mark.parametrize("text", ["...", "use it", "done"])
def test_a_discarded_memory_has_a_hint(run: Run, text: str) -> None:
    written = run("memory", "write", text).result
    assert (written["verdict"], written["observation"]) == ("discard", text)
    assert "not remembered" in written["hint"] and "as a sentence" in written["hint"]


@pytest.mark.parametrize(
    ("text", "is_noise"),
    [
        ("", True), ("The gateway listens on port 8089", False), ("so: ## Session Recovery", True),
        ("I ask: should I: rename it", True), ("x" * 3_990 + "## plan summary", False),
        ("and let me check it", False), ("<invoke name", True), ("<invoked> is a word", False), ("done!", True),
        ("Done - all", False), ("sure thing\nit runs", True),
    ],
)  # fmt: skip
def test_noise_is_recognised(text: str, is_noise: bool) -> None:
    assert gate.is_noise(text) is is_noise
