"""`compaction decide` measures the current context, and never compacts the same conversation twice."""

from pathlib import Path

import pytest
from conftest import ROOT, Run
from pi_session import PiSession

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
WINDOW, RESERVE = 200_000, 20_000
# The double compactions of the report: session, tokens at the first one (and told by the newest kept answer), messages
# that the first one kept. Each second one kept none.
DOUBLE_COMPACTIONS = [
    ("0c827498", 184_297, 45), ("30b28b73", 182_038, 193), ("52c0e430", 181_876, 3), ("52c0e430", 161_586, 145),
    ("b4bfa524", 183_377, 1),
]  # fmt: skip
UNEXPLAINED = 161_586
"""The report says that all exceed the threshold; this one does not. Something else must have caused it."""


def kept_messages(session: PiSession, count: int, tokens: int) -> str:
    """The messages that the first compaction kept, the last one telling of the full context; the first's id."""
    for number in range(count - 1):
        if number % 2:
            session.answer(f"answer {number}", tokens=tokens - 1000 * (count - number))
        else:
            session.user(f"question {number}")
    session.answer("the last one before the compaction", tokens=tokens)
    return session.ids[-count]


@pytest.mark.parametrize(
    ("name", "tokens", "kept_tokens"), DOUBLE_COMPACTIONS, ids=[f"{n}-{t}-{k}" for n, t, k in DOUBLE_COMPACTIONS]
)
def test_a_second_compaction_is_refused(run: Run, tmp_path: Path, name: str, tokens: int, kept_tokens: int) -> None:
    session = PiSession(tmp_path / f"{name}.jsonl")
    session.user("the beginning, long since summarized")
    first = kept_messages(session, kept_tokens, tokens)
    words = ("compaction", "decide", str(session.path), "--window", str(WINDOW), "--reserve", str(RESERVE))
    before = run(*words).result
    assert before["compact"] == (tokens > WINDOW - RESERVE)
    assert before["compact"] == (tokens != UNEXPLAINED)
    assert before["contextTokens"] == tokens

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
