"""`memory write`: what is stored and returned, and the write gate."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, NOW, PATIENCE_S, Run, clean_environment
from hypothesis import given
from hypothesis import strategies as st

from memory import gate


def test_mirrored_keys_and_defaults(run: Run) -> None:
    result = run("memory", "write", "Deploys run from the main branch only", env=NOW).result
    assert result["observation"] == "Deploys run from the main branch only"
    assert (result["category"], result["source"], result["tags"]) == ("ops", "cli", [])
    assert result["categoryId"] == "jc:operations"
    assert result["reason"] and result["merged"] is False and result["redacted"] == []
    assert result["created_at"] == "2026-09-21T14:13:20.000Z"


def test_flags_are_kept(run: Run) -> None:
    result = run(
        "memory", "write", "Joel reads mail at noon", "-c", "prefs", "-t", "a, b,,a", "-s", "pi",
        "--session", "s1", "--project", "p1",
    ).result  # fmt: skip
    shown = run("memory", "show", result["id"]).result
    assert (shown["categoryId"], shown["categorySource"]) == ("jc:preferences", "flag")
    assert (shown["tags"], shown["source"], shown["session"], shown["project"]) == (["a", "b"], "pi", "s1", "p1")


@pytest.mark.parametrize("text", ["", "\n\t"])
def test_no_text_is_wrong_usage_and_makes_no_store(run: Run, home: Path, text: str) -> None:
    done = run("memory", "write", text, ok=False)
    assert (done.code, done.json["error"]["code"]) == (2, "EMPTY_TEXT")
    assert done.json["fix"]
    assert not (home / "store.db").exists()


def test_endless_stdin_is_refused_without_reading_it_all(run: Run, tmp_path: Path) -> None:
    words, env = [JOELCLAW, "memory", "write", "-"], clean_environment(tmp_path)
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(words, stdin=zeros, capture_output=True, timeout=PATIENCE_S, env=env)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["message"]) == ("TEXT_TOO_LONG", "the text has more than 20000 characters")


@pytest.mark.parametrize(("flag", "text", "category", "source"), [
    ("people", "Ana is the manager of the mobile team", "jc:people-relationships", "flag"),
    ("people", "[gate=allow category=jc:projects] Ana leads the launch", "jc:people-relationships", "flag"),
    ("ops", "[gate=allow category=jc:projects] Ana leads the launch", "jc:projects", "annotation"),
    ("", "Always name branches after their ticket", "jc:rules-conventions", "keyword"),
    ("", "Bananas are yellow and rather bent", "jc:operations", "fallback"),
    ("something new", "Bananas are yellow and rather bent", "jc:something-new", "flag"),
])  # fmt: skip
def test_where_the_category_comes_from(run: Run, flag: str, text: str, category: str, source: str) -> None:
    result = run("memory", "write", text, "--category", flag).result
    assert (result["categoryId"], result["categorySource"]) == (category, source)


SENTENCES = Path(__file__).with_name("category_sentences.txt")


def sentences(half: str) -> list[tuple[str, str]]:
    """Category and text of each sentence of a half."""
    rows = [line.partition(" | ") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    return [(head.split()[1], text) for head, _, text in rows if head.split()[0] == half]


@pytest.mark.parametrize(("half", "right"), [("tuned", 57), ("held", 51)])
def test_most_sentences_get_the_right_category(half: str, right: int) -> None:
    """The words were chosen with one half (35 before); the other was written with it and not looked at (38 before)."""
    rows = sentences(half)
    assert len(rows) >= 60
    assert sum(gate.classify(text)[0] == f"jc:{category}" for category, text in rows) >= right


NOTE = "[gate=allow] We decided that every harbour gauge logs its tries because the operators ask for them"


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Two repositories, a folder below one, and a folder in none."""
    for name in ("alpha", "beta"):
        (tmp_path / name / ".git").mkdir(parents=True)
        origin = f'[remote "origin"]\n\turl = https://github.com/acme/{name}\n'
        (tmp_path / name / ".git" / "config").write_text(origin)
    for folder in ("alpha/src", "plain"):
        (tmp_path / folder).mkdir()
    return {name: tmp_path / name for name in ("alpha", "beta", "alpha/src", "plain")}


def write(run: Run, *words: str, cwd: Path | None = None, text: str = NOTE) -> Any:
    return run("memory", "write", text, *words, env=NOW, cwd=cwd).result


@pytest.mark.parametrize(("where", "project"), [("alpha", "acme/alpha"), ("alpha/src", "acme/alpha"), ("plain", "")])
def test_the_repository_of_the_folder(run: Run, places: dict[str, Path], where: str, project: str) -> None:
    written = write(run, cwd=places[where])
    assert (written["project"], written["isGlobal"]) == (project, not project)
    assert run("memory", "show", written["id"], env=NOW).result["project"] == project


def test_the_sessions_project_goes_before_the_folders(
    run: Run, places: dict[str, Path], transcript: Transcript
) -> None:
    transcript.user("look at the harbour gauge")
    run("memory", "archive", str(transcript.path), env=NOW)
    assert write(run, "--session", SESSION, cwd=places["alpha"])["project"] == "gateway"
    assert write(run, "--session", "unknown", cwd=places["alpha"])["project"] == "acme/alpha"
    assert write(run, "--project", "given", cwd=places["alpha"])["project"] == "given"
    lost = write(run, "--session", "nobody", cwd=places["plain"], text=f"{NOTE} at night")
    assert (lost["project"], lost["isGlobal"]) == ("", False)


def test_a_global_memory_has_neither_project_nor_session(run: Run, places: dict[str, Path]) -> None:
    written = write(run, "--global", "--session", "s1", cwd=places["alpha"])
    assert (written["project"], written["session"], written["isGlobal"]) == ("", "", True)


def test_text_of_a_project_does_not_get_into_a_global_memory(run: Run, places: dict[str, Path]) -> None:
    """Near duplicates, not equal."""
    long = "the harbour gauge importer waits and doubles its delay with each try until the office has answered it again"
    first = write(run, "--global", cwd=places["alpha"], text=long)
    near = write(run, cwd=places["beta"], text=long + " indeed")
    assert near["merged"] is False and near["project"] == "acme/beta"
    assert write(run, cwd=places["beta"], text=long + " indeed really")["mergedInto"] == near["id"] != first["id"]
    assert write(run, "--global", text=long + " actually")["mergedInto"] == first["id"]


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


@pytest.mark.parametrize("text", ["use pnpm", "use uv", "no emojis", "Avoid sudo."])
def test_a_short_preference_is_recalled(run: Run, text: str) -> None:
    written = run("memory", "write", text).result
    assert (written["observation"], written["verdict"]) == (f"Preference: {text}", "allow")
    assert [hit["id"] for hit in run("recall", text).result["hits"]] == [written["id"]]


@pytest.mark.parametrize(("text", "verdict"), [
    ("ok then", "discard"), ("use it", "discard"), ("never mind", "discard"), ("no problem", "discard"),
    ("I'll now run the whole suite", "discard"), ("Got it, thanks!", "discard"),
    ("Done. The port of the gateway is 8089.", "hold"),
    ("## Plan Summary\n1. read the files", "discard"), ("Should I: (a) rename it or (b) leave it", "discard"),
    ("Let me check the logs first.", "discard"), ("I've updated the three files as you asked", "hold"),
    ('<tool_call>{"name": "bash"}</tool_call>', "discard"),
    ('{"a": 1, "b": [1, 2, {"c": "d"}]}', "discard"), ("550e8400-e29b-41d4-a716-446655440000", "discard"),
    ("TODO: fix this later", "discard"), ("FIXME: the lease is never given back", "discard"),
    ("What port does the gateway use?", "hold"), ("Wie lange? Und warum?", "hold"),
])  # fmt: skip
def test_noise_is_held_or_discarded(text: str, verdict: str) -> None:
    judged = gate.judge(text)
    assert judged["verdict"] == verdict, judged
    assert judged["reason"]


@pytest.mark.parametrize(("text", "expected"), [
    ("[gate=hold confidence=.4 category=jc:x reason=too vague] the text", ("hold", 0.4, "jc:x", "too vague")),
    ("🔴 [verdict=discard conf=0.9 reason=\"a ] b, c=d\"] the text", ("discard", 0.9, "", "a ] b, c=d")),
    ("🟢[gate=allow] the text", ("allow", 0.65, "", "annotated")),
    ("🟡 [ gate = allow, confidence = 0.8 ] the text", ("allow", 0.8, "", "annotated")),
    ("[GATE=ALLOW confidence=7] the text", ("allow", 0.65, "", "annotated")),
    ("[reason='it lasts' category=prefs gate=allow]\n the text", ("allow", 0.65, "prefs", "it lasts")),
])  # fmt: skip
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


def test_the_verdict_is_stored(run: Run) -> None:
    held = run("memory", "write", "[gate=hold reason=unsure] the zebra cache may be cold").result
    shown = run("memory", "show", held["id"]).result
    verdict = [shown[name] for name in ("verdict", "reason", "gateVersion", "gateFallback")]
    assert verdict == ["hold", "unsure", "v1", False]
    assert shown["observation"] == "the zebra cache may be cold"


@pytest.mark.parametrize("text", ["...", "use it", "done", "[REDACTED API KEY]", "Task: [redacted:jwt]"])
def test_a_discarded_memory_has_a_hint(run: Run, text: str) -> None:
    written = run("memory", "write", text).result
    assert (written["verdict"], written["observation"]) == ("discard", text)
    assert "not remembered" in written["hint"] and "as a sentence" in written["hint"]


@pytest.mark.parametrize(("text", "is_noise"), [
    ("", True), ("The gateway listens on port 8089", False), ("so: ## Session Recovery", True),
    ("I ask: should I: rename it", True), ("x" * 3_990 + "## plan summary", False),
    ("and let me check it", False), ("<invoke name", True), ("<invoked> is a word", False), ("done!", True),
    ("Key: [redacted:password], [REDACTED]", True), ("The key [redacted:password] is old", False),
    ("[redacted the plan of the harbour", False), ("Deploy: fix: [redacted:x]", False),
    ("https://ci.example/job/4?token=[redacted:token]", False), ("Key=[redacted:x]\nOld key: [redacted:x]", False),
    ("Key=[redacted:x]\nToken: [redacted:x]", True), ("Task: token: [redacted:x]", True),
    ("Done - all", False), ("sure thing\nit runs", True),
    *((text, True) for text in ("Got it! I'll do it.", "Perfect, it works.", "Here's a summary", "Understood. Here",
                                "Sounds good — next", "You're right, it was", "You’re right, it was", "  ",
                                "The plan.\n\nShould I:\n1. do", "quoting ## Relevant Memory (auto-retrieved)")),
])  # fmt: skip
def test_noise_is_recognised(text: str, is_noise: bool) -> None:
    assert gate.is_noise(text) is is_noise
