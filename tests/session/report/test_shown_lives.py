"""What a person reads on a terminal of sessions' lives and of the report: every text, and some colours."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from terminal import drawn

from cli.commands import session_view as life

TURN: dict[str, Any] = {
    "number": 1, "at": "2026-09-21T12:13:20.000Z", "prompt": "mend the lease", "contextPercent": 45.6, "zone": "warm",
    "toolCalls": 2, "failedCalls": 1, "hooks": 1, "hookMs": 12.0, "seconds": 40, "moments": [],
}  # fmt: skip
LIFE: dict[str, Any] = {
    "chosen": "given", "problem": "", "full": False, "sessionId": "s-1", "client": "claude", "project": "acme/gateway",
    "startedAt": "2026-09-21T10:00:00Z", "updatedAt": "2026-09-21T12:13:20Z", "task": "mend the lease",
    "turnCount": 1, "toolCalls": 2, "failedCalls": 0, "compactions": 0, "recalls": 3, "contextPercent": 45.6,
    "zone": "warm", "injections": {"count": 1, "tokens": 1200}, "memories": {"injected": 4, "echo": 2, "fizzle": 1},
    "hooks": {"count": 5, "p50": 7.4, "totalMs": 2100.0},
    "turns": [], "hooksByEvent": [],
}  # fmt: skip


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))


def turns(*given: dict[str, Any], full: bool = False) -> list[str]:
    """The lines of a session below its head."""
    result = {**LIFE, "task": "", "full": full, "turns": [{**TURN, **one} for one in given]}
    return [line for line in drawn(life.draw_session, result, columns=250)[2:] if not line.startswith("context")]


def test_turns_in_which_nothing_happened_are_one_line() -> None:
    moment = {"kind": "zone", "at": 1, "text": "warm"}
    quiet = [{"number": 1, "contextPercent": None}, {"number": 2, "contextPercent": 10.4}, {"number": 3}]
    shown = turns(*quiet, {"number": 4, "moments": [moment]}, {"number": 5}, {"number": 6, "contextPercent": None})
    assert shown[0] == "#1 to #3: 3 turns, 6 calls, context 10 to 46 %"
    assert shown[1].startswith("#4 ") and shown[2] == "       zone       warm"
    assert shown[3:] == ["#5 to #6: 2 turns, 4 calls, context 46 to 46 %"]
    assert turns(*({"number": n, "contextPercent": None, "toolCalls": 600} for n in (1, 2))) == [
        "#1 to #2: 2 turns, 1,200 calls"
    ]
    assert [line[:2] for line in turns(*quiet, full=True)] == ["#1", "#2", "#3"]
    assert turns({"number": 7})[0].startswith("#7     12:13:20"), "one such turn stands as it is"
    for seconds, told in ((40, "40 s"), (9000, "2 h"), (24_936_116, "289 days")):
        assert f" · {told}  " in turns({"number": 7, "seconds": seconds})[0]
