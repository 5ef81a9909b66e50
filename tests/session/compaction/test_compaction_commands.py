"""`compaction decide` and `branch`, the settings of pi, and what all commands do with damaged or foreign files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, ROOT, Attempt, Run, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pi_session import PiSession, call

from core.errors import Failure
from session.compaction import preparation, session_tree

PAYLOADS = ROOT / "tests" / "agents" / "payloads"


def kept_messages(session: PiSession, count: int, tokens: int) -> str:
    """The messages that the first compaction kept, the last one telling of the full context; the first's id."""
    for number in range(count - 1):
        if number % 2:
            session.answer(f"answer {number}", tokens=tokens - 1000 * (count - number))
        else:
            session.user(f"question {number}")
    session.answer("the last one before the compaction", tokens=tokens)
    return session.ids[-count]


@pytest.mark.parametrize(("tokens", "kept"), [(184_297, 45), (182_038, 193), (161_586, 145), (183_377, 1)])
def test_a_second_compaction_is_refused(run: Run, tmp_path: Path, tokens: int, kept: int) -> None:
    """The figures are those of double compactions that were reported; one was not due by its tokens."""
    session = PiSession(tmp_path / "s.jsonl")
    session.user("the beginning, long since summarized")
    first = kept_messages(session, kept, tokens)
    words = ("compaction", "decide", str(session.path), "--window", "200000", "--reserve", "20000")
    before = run(*words).result
    assert (before["compact"], before["contextTokens"]) == (tokens > 180_000, tokens)

    session.compaction(first)
    session.add("custom", customType="openclaw.cache-ttl", data={"timestamp": 1})
    after = run(*words).result
    # What the check of the report looked at: the newest answer in the context, which is a kept one.
    assert after["staleUsageTokens"] == tokens
    expected = {"compact": False, "reason": "nothing-since-compaction", "source": "estimate", "threshold": 180_000}
    assert {**after, **expected} == after
    assert 0 < after["contextTokens"] < 5_000


def test_above_the_threshold_and_not_at_it(run: Run, tmp_path: Path) -> None:
    for tokens, compact, reason in [(180_000, False, "below-threshold"), (180_001, True, "above-threshold")]:
        session = PiSession(tmp_path / "s.jsonl")
        session.user("go")
        session.answer("done", tokens=tokens)
        spawned = run("compaction", "decide", str(session.path), "--window", "200000", "--reserve", "20000")
        assert (spawned.result["compact"], spawned.result["reason"]) == (compact, reason)


def test_sources_of_the_window(run: Run, tmp_path: Path) -> None:
    recorded = PAYLOADS / "pi" / "session.jsonl"
    pi, other = str(recorded), tmp_path / "other.jsonl"
    other.write_text(recorded.read_text().replace('"model": "', '"model": "deepseek-'))
    set_ = {"JOELCLAW_CONTEXT_WINDOW": "150000"}

    def decide(*words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
        result = run("compaction", "decide", *words, env=env).result
        return result["window"], result["windowFrom"]

    assert decide(pi) == (200_000, "the model")
    assert decide(pi, env=set_) == (150_000, "context.window")
    assert decide(pi, "--window", "90000", env=set_) == (90_000, "--window")
    assert decide(str(other)) == (128_000, "the model")


def test_the_reserve(run: Run, tmp_path: Path) -> None:
    pi = str(PAYLOADS / "pi" / "session.jsonl")
    assert run("compaction", "decide", pi).result["threshold"] == 200_000 - 16_384
    env = {"JOELCLAW_COMPACTION_RESERVE_TOKENS": "30000"}
    assert run("compaction", "decide", pi, env=env).result["threshold"] == 170_000
    spawned = run("compaction", "decide", pi, "--window", "1000", ok=False)
    assert (spawned.code, spawned.json["error"]["code"]) == (2, "COMPACTION_INVALID_ARGS")
    assert "16,384" in spawned.json["error"]["message"]


@pytest.fixture
def forked(tmp_path: Path) -> PiSession:
    """A (e001) with two branches: B C D (e002 to e005, a result among them), and E F."""
    transcript = PiSession(tmp_path / "s.jsonl")
    transcript.user("A")
    transcript.answer("B " + "b" * 398, call("c1", "edit", path="b.py"))
    transcript.result("c1", "done")
    transcript.user("C " + "c" * 398)
    transcript.answer("D " + "d" * 398, call("c2", "read", path="d.py"))
    transcript.leaf = "e001"
    transcript.answer("E", call("c3", "write", path="e.py"))
    transcript.user("F")
    return transcript


def test_the_abandoned_branch(run: Run, forked: PiSession) -> None:
    result = run("compaction", "branch", str(forked.path), "--from", "e005", "--to", "e007").result
    assert result["commonAncestorId"] == "e001"
    assert result["entries"] == ["e005", "e004", "e002"], "newest first, without what tools returned"
    assert result["branchEntries"] == 4
    assert result["fileOps"] == {"read": ["d.py"], "written": [], "edited": ["b.py"]}
    assert (result["readFiles"], result["modifiedFiles"]) == (["d.py"], ["b.py"])
    assert result["problems"] == []


def test_a_model_summarizes_the_branch(run: Run, forked: PiSession) -> None:
    reply = forked.path.with_name("reply.md")
    sections = ("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context")
    reply.write_text("\n\n".join(f"## {name}\n- said by a model" for name in sections))
    command = f"sh -c 'cat >/dev/null; cat {reply}'"
    words = ("--from", "e005", "--to", "e007", "--command", command)
    result = run("compaction", "branch", str(forked.path), *words).result
    assert result["source"] == "model"
    assert "said by a model" in result["summary"]


def test_a_summary_is_squeezed_in(run: Run, tmp_path: Path) -> None:
    """A summary stands for a whole branch: it may go over the budget while less than nine tenths are used."""
    forked = PiSession(tmp_path / "s.jsonl")
    forked.user("A")
    details = {"readFiles": ["r.py"], "modifiedFiles": ["m.py"]}
    forked.add("branch_summary", fromId="e001", summary="x" * 800, details=details)
    forked.answer("y" * 400)
    words, reserve = ("compaction", "branch", str(forked.path), "--to", "e001"), 1_000
    env = {"JOELCLAW_COMPACTION_RESERVE_TOKENS": str(reserve)}
    result = run(*words, env={**env, "JOELCLAW_CONTEXT_WINDOW": str(reserve + 150)}).result
    assert (result["entries"], result["tokens"]) == (["e003", "e002"], 300)
    assert result["fileOps"] == {"read": ["r.py"], "written": [], "edited": ["m.py"]}
    result = run(*words, env={**env, "JOELCLAW_CONTEXT_WINDOW": str(reserve + 110)}).result
    assert result["entries"] == ["e003"]
    assert result["fileOps"]["edited"] == ["m.py"], "what was done stays known"


@pytest.mark.parametrize(("words", "code"), [
    (("--from", "e005"), "COMPACTION_INVALID_ARGS"), (("--from", "nowhere", "--to", "e001"), "ENTRY_UNKNOWN"),
    (("--to", "nowhere"), "ENTRY_UNKNOWN"),
])  # fmt: skip
def test_wrong_words(run: Run, forked: PiSession, words: tuple[str, ...], code: str) -> None:
    spawned = run("compaction", "branch", str(forked.path), *words, ok=False)
    assert (spawned.code, spawned.json["error"]["code"]) == (2, code)
    assert spawned.json["fix"]


COMMANDS = (("summarize",), ("branch", "--to", "e001"))


@pytest.fixture(params=COMMANDS, ids=lambda words: words[0])
def command(request: pytest.FixtureRequest, run: Run) -> Any:
    """Runs one of the commands on a file."""
    first, *rest = request.param

    def call(path: Path | str, *, ok: bool) -> Attempt:
        return run("compaction", first, str(path), *rest, ok=ok)

    return call


def refused(spawned: Attempt, code: str, exit_code: int = 1) -> dict[str, Any]:
    """The error of a command that gave one."""
    answer: dict[str, Any] = spawned.json
    assert (spawned.code, answer["ok"], answer["error"]["code"]) == (exit_code, False, code)
    assert answer["fix"]
    assert spawned.err == ""
    return answer


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08" + bytes(range(256)) * 99, b"{}\n" * 3], ids=["gzip", "objects"])
def test_other_files_are_refused(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.bin").write_bytes(content)
    refused(run("compaction", "prepare", str(tmp_path / "s.bin"), ok=False), "TRANSCRIPT_UNKNOWN")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("{}")
    path.chmod(0)
    refused(run("compaction", "prepare", str(path), ok=False), "TRANSCRIPT_UNREADABLE")


def no_parent(session: PiSession) -> None:
    session.leaf = "gone"
    session.user("found")
    session.answer("x" * 400)


def cyclic(session: PiSession) -> None:
    lines = session.path.read_text().splitlines(keepends=True)
    session.path.write_text("".join(lines).replace('"parentId": null', '"parentId": "e002"'))


def its_own_parent(session: PiSession) -> None:
    session.path.write_text(session.path.read_text().replace('"parentId": null', '"parentId": "e001"'))


def newer(session: PiSession) -> None:
    header, rest = session.path.read_text().split("\n", 1)
    session.path.write_text(json.dumps({**json.loads(header), "version": 9}) + "\n" + rest)
    session.add("hologram", content=[{"type": "smell"}])
    session.add("message", message={"role": "oracle", "content": 7})


def half_a_character(session: PiSession) -> None:
    """A lone surrogate in an escape, and bytes that are no UTF-8."""
    session.user("half \ud83d of one " + "x" * 400)
    session.append(session.path.read_bytes().splitlines(keepends=True)[-1].replace(b"\\ud83d", b"\xff"))


@pytest.mark.parametrize(("damage", "problems"), [
    (lambda session: session.append(b'{"type":"message","id":"e003","parentId":"e002","message":{"content":"hal'),
     ["line 4 is not a JSON object"]),
    (lambda session: session.append(b"\0\0\0\0\n[1]\nnull\n{\n"),
     [f"line {number} is not a JSON object" for number in (4, 5, 6, 7)]),
    (cyclic, ["its parent"]),
    (its_own_parent, ["its parent"]),
    (no_parent, ["the branch begins at e003: gone, its parent, is not in the file or follows it"]),
    (lambda session: session.append(session.path.read_bytes().splitlines(keepends=True)[1]), []),
    (newer, []),
    (half_a_character, []),
])  # fmt: skip
def test_damage_is_reported_and_the_rest_read(command: Any, tmp_path: Path, damage: Any, problems: list[str]) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.user("go")
    session.answer("x" * 400)
    damage(session)
    spawned = command(session.path, ok=True)
    result = spawned.result["problems"]
    assert [problem for problem in problems if not any(problem in line for line in result)] == []
    spawned.out.encode()


WORDS = st.sampled_from(["type", "id", "parentId", "message", "role", "content", "text"])
KINDS = st.sampled_from(["message", "user", "assistant", "compaction", "toolCall", "text"])
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), KINDS, st.text(max_size=4)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=15,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_damage(tmp_path: Path, data: st.DataObject) -> None:
    """Lines of a recording, some gone, cut, doubled, moved, or with something else in a member."""
    lines = (PAYLOADS / "pi" / "session.jsonl").read_bytes().splitlines()
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.sampled_from(["drop", "cut", "double", "move", "change", "change", "change"]))
        if what == "drop" and len(lines) > 1:
            del lines[at]
        elif what == "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
        elif what == "double":
            lines.insert(data.draw(st.integers(0, len(lines))), lines[at])
        elif what == "move":
            lines.insert(data.draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        else:
            lines[at] = changed(lines[at], data)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(lines))
    try:
        ours = session_tree.read(str(path), "pi")
    except Failure as failure:
        assert failure.code.startswith("TRANSCRIPT_")
        return
    preparation.reason(ours, window=10_000, reserve=10)
    prepared = preparation.prepare(ours, keep_recent=50)
    session_tree.serialize(prepared.entries_to_summarize)
    session_tree.serialize(prepared.turn_prefix_entries)
    session_tree.serialize(preparation.context_entries(ours))
    if ours.tree:
        some = data.draw(st.sampled_from(sorted(ours.tree)))
        assert preparation.prepare_branch(ours, some, some, budget=0).entries == ()


def changed(line: bytes, data: st.DataObject) -> bytes:
    """A line in which a member, somewhere, has another value."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    inner = value
    while isinstance(inner, dict) and inner:
        name = data.draw(st.sampled_from(sorted(inner)))
        if not isinstance(inner[name], dict) or data.draw(st.booleans()):
            inner[name] = data.draw(ANYTHING)
            break
        inner = inner[name]
    return json.dumps(value).encode()


class Folders:
    """Where pi's settings lie, and a session of pi in a repository."""

    def __init__(self, run: Run, home: Path, folder: Path) -> None:
        self.run, self.agent, self.repo = run, folder / "agent", folder / "repo"
        self.config = home / "config.toml"
        self.env = {"PI_CODING_AGENT_DIR": str(self.agent)}
        (self.repo / ".git").mkdir(parents=True)
        self.session = PiSession(folder / "session.jsonl", cwd=str(self.repo))
        self.session.user("Mend the tide tables.")
        self.session.answer("They are mended.", tokens=900)

    def own(self, **compaction: Any) -> None:
        put(self.agent / "settings.json", json.dumps({"theme": "dark", "compaction": compaction}))

    def ask(self, command: str, *words: str, **env: str) -> Any:
        return self.run("compaction", command, str(self.session.path), *words, env={**self.env, **env}).result

    def tokens(self, *words: str, **env: str) -> tuple[int, int]:
        settings = self.ask("prepare", *words, **env)["settings"]
        return settings["reserveTokens"], settings["keepRecentTokens"]


@pytest.fixture
def pi(run: Run, home: Path, tmp_path: Path) -> Folders:
    return Folders(run, home, tmp_path)


def test_precedence_is_flags_our_settings_pis(pi: Folders) -> None:
    assert pi.tokens() == (16_384, 20_000)
    pi.own(reserveTokens=9_000, keepRecentTokens=7_000)
    assert pi.tokens() == (9_000, 7_000)
    put(pi.config, "[compaction]\nkeep_recent_tokens = 6000\n")
    assert pi.tokens() == (9_000, 6_000)
    assert pi.tokens(JOELCLAW_COMPACTION_RESERVE_TOKENS="5000") == (5_000, 6_000)
    assert pi.tokens("--reserve", "4000", "--keep-recent", "3000") == (4_000, 3_000)


def test_compactions_can_be_switched_off(pi: Folders) -> None:
    put(pi.repo / ".pi" / "settings.json", json.dumps({"compaction": {"enabled": False, "reserveTokens": 7}}))
    decided = pi.ask("decide")
    assert (decided["enabled"], decided["reserve"]) == (True, 16_384), "a repository decides nothing"
    pi.own(enabled=False)
    assert pi.ask("decide")["enabled"] is False


@pytest.mark.parametrize("text", ["{", "[]", '{"compaction": 7}', '{"compaction": {"reserveTokens": "many"}}'])
def test_faulty_settings_are_ignored(pi: Folders, text: str) -> None:
    put(pi.agent / "settings.json", text)
    assert pi.tokens() == (16_384, 20_000)


def hook(pi: Folders, event: str) -> None:
    payload = {"session_id": "s", "cwd": str(pi.repo), "messages": ["Mend it."], "percent": 80}
    pi.run("hook", "pi", event, stdin=json.dumps(payload), env={**pi.env, **NOW})


@pytest.mark.parametrize("enabled", [True, False])
def test_an_idle_session_is_not_compacted_if_pi_switched_it_off(pi: Folders, enabled: bool) -> None:
    pi.own(enabled=enabled)
    put(pi.config, "[compaction]\nidle_trigger_minutes = 5\n")
    hook(pi, "turn_end")
    assert len(pi.run("idle", "list", env={**pi.env, **NOW}).result["timers"]) == enabled
    words = ("idle", "schedule", "--percent", "80", "--session")
    scheduled = pi.run(*words, "s", "--cwd", str(pi.repo), "--agent", "pi", env={**pi.env, **NOW}).result
    assert (scheduled["scheduled"], scheduled["reason"]) == (enabled, "scheduled" if enabled else "switched-off")
    other = pi.run("idle", "schedule", "--session", "t", "--percent", "80", "--agent", "claude", env={**pi.env, **NOW})
    assert other.result["scheduled"]
