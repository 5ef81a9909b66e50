"""How full the context is: the newest usage or compaction counts, never usage from before it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ROOT

from core.config import Config
from core.store import sources
from session.transcript import context_usage

if TYPE_CHECKING:
    from session.session import ContextUsage

STAMP = "2027-03-04T05:06:07.089Z"
PAYLOADS = ROOT / "tests" / "agents" / "payloads"
NONE = Config({})


class Claude:
    """Lines as Claude Code writes them."""

    agent = "claude"
    tells_size_after = True

    @staticmethod
    def _line(kind: str, **fields: Any) -> dict[str, Any]:
        return {"parentUuid": "u", "isSidechain": False, "type": kind, "sessionId": "s", "timestamp": STAMP, **fields}

    def prompt(self, text: str) -> dict[str, Any]:
        return self._line("user", message={"role": "user", "content": text})

    def answer(self, tokens: int, text: str = "", **fields: Any) -> dict[str, Any]:
        usage = {"input_tokens": 1, "cache_read_input_tokens": tokens - 1, "cache_creation_input_tokens": 0}
        message = {"role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": text}]}
        return self._line("assistant", message={**message, "usage": usage}, **fields)

    def aborted(self) -> dict[str, Any]:
        line = self.answer(1, "API Error")
        line["message"].update(model="<synthetic>", usage={"input_tokens": 0, "output_tokens": 0})
        return {**line, "isApiErrorMessage": True}

    def outcome(self, text: str) -> dict[str, Any]:
        part = {"type": "tool_result", "tool_use_id": "t", "content": text}
        return self._line("user", message={"role": "user", "content": [part]})

    def boundary(self, summary: str, after: int | None = None) -> list[dict[str, Any]]:
        meta = {"trigger": "auto", "preTokens": 180_000} | ({"postTokens": after} if after else {})
        edge = self._line("system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=meta)
        return [edge, {**self.prompt(summary), "isCompactSummary": True}]


class Codex:
    """Lines as Codex writes them."""

    agent = "codex"
    tells_size_after = False

    @staticmethod
    def _line(payload: dict[str, Any], kind: str = "response_item") -> dict[str, Any]:
        return {"timestamp": STAMP, "type": kind, "payload": payload}

    def _message(self, role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    def prompt(self, text: str) -> dict[str, Any]:
        return self._line(self._message("user", text))

    def answer(self, tokens: int) -> dict[str, Any]:
        info = {"last_token_usage": {"total_tokens": tokens}, "model_context_window": 200_000}
        return self._line({"type": "token_count", "info": info}, "event_msg")

    def aborted(self) -> dict[str, Any]:
        return self._line({"type": "token_count", "info": None}, "event_msg")

    def outcome(self, text: str) -> dict[str, Any]:
        return self._line({"type": "function_call_output", "call_id": "k", "output": text})

    def boundary(self, summary: str, after: int | None = None) -> list[dict[str, Any]]:
        history = [self._message("user", summary)]
        return [self._line({"message": "unused", "replacement_history": history}, "compacted")]


Client = Claude | Codex


@pytest.fixture(params=[Claude, Codex], ids=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> Client:
    client_: Client = request.param()
    return client_


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", raising=False)


def text_of(lines: list[Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def usage_of(path: Path, agent: str, lines: list[Any], **words: Any) -> ContextUsage:
    path.write_bytes(text_of(lines))
    return context_usage(str(path), agent, config=words.pop("config", NONE), **words)


def usage(tokens: int, source: str = "usage", window: int = 200_000) -> dict[str, Any]:
    return {"tokens": tokens, "window": window, "percent": round(tokens * 100 / window, 2), "source": source}


def test_the_newest_usage_counts(tmp_path: Path, client: Client) -> None:
    lines = [
        client.prompt("weave"), client.answer(5000), client.outcome("done"), client.answer(90_000),
        client.prompt("go"),
    ]  # fmt: skip
    assert usage_of(tmp_path / "t", client.agent, lines) == usage(90_000)


def test_usage_from_before_a_compaction_never_counts(tmp_path: Path, client: Client) -> None:
    lines = [client.answer(184_297), *client.boundary("s" * 400)]
    assert usage_of(tmp_path / "t", client.agent, lines) == usage(100, "estimate")


def test_an_answer_that_was_not_finished_does_not_count(tmp_path: Path, client: Client) -> None:
    assert usage_of(tmp_path / "t", client.agent, [client.answer(9000), client.aborted()]) == usage(9000)
    lines = [client.answer(184_297), *client.boundary("s" * 400), client.aborted()]
    measured = usage_of(tmp_path / "t", client.agent, lines)
    assert measured["source"] == "estimate"
    assert measured["tokens"] is not None
    assert measured["tokens"] < 200


def test_claude_records_the_size_after_a_compaction(tmp_path: Path) -> None:
    client = Claude()
    lines = [client.answer(184_297), *client.boundary("s" * 400, 5504), client.prompt("go")]
    assert usage_of(tmp_path / "t", "claude", lines) == usage(5504, "boundary")


def test_codex_records_its_window_before_or_after_its_usage(tmp_path: Path) -> None:
    client = Codex()
    started = client._line({"type": "task_started", "model_context_window": 19_000}, "event_msg")
    lines = [started, client.prompt("p" * 400)]
    assert usage_of(tmp_path / "t", "codex", lines) == usage(100, "estimate", 19_000)
    lines = [started, client.answer(15_000), *client.boundary("s" * 400)]
    lines[1]["payload"]["info"]["model_context_window"] = 19_000
    assert usage_of(tmp_path / "t", "codex", lines) == usage(100, "estimate", 19_000)


def gemini(kind: str, text: str, identifier: str, tokens: int = 0) -> dict[str, Any]:
    line = {"id": identifier, "timestamp": STAMP, "type": kind, "content": [{"text": text}]}
    return {**line, "tokens": {"input": tokens}, "model": "gemini-2.5-flash"} if tokens else line


def compressed(identifier: str, *entries: dict[str, Any]) -> dict[str, Any]:
    summary = gemini("user", "<state_snapshot>" + "s" * 384, identifier)
    return {"$set": {"messages": [summary, *entries], "lastUpdated": STAMP}}


def test_gemini_compressed_history_is_a_boundary(tmp_path: Path) -> None:
    window = 1_048_576
    prompt, answered = gemini("user", "bake", "g-1"), gemini("gemini", "yes", "g-2", 600_000)
    surviving = gemini("user", "k" * 100, "g-3")
    lines = [prompt, answered, compressed("c-1", surviving)]
    assert usage_of(tmp_path / "t", "gemini", lines) == usage(125, "estimate", window)
    lines += [gemini("gemini", "ok", "g-4", 9000)]
    assert usage_of(tmp_path / "t", "gemini", lines) == usage(9000, "usage", window)
    # a session that is taken up again writes its history once more, with the same summary
    lines += [compressed("c-1", surviving)]
    assert usage_of(tmp_path / "t", "gemini", lines) == usage(9000, "usage", window)
    lines += [compressed("c-2")]
    assert usage_of(tmp_path / "t", "gemini", lines) == usage(100, "estimate", window)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "pi", "opencode", "x"])
def test_an_unreadable_transcript_has_no_usage(tmp_path: Path, agent: str) -> None:
    nothing = {"tokens": None, "percent": None, "source": "none"}
    os.mkfifo(tmp_path / "pipe")  # would be waited for
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe", "", "a\0b"):
        usage = context_usage(str(path), agent, config=NONE)
        assert {**usage, "window": 0} == {**nothing, "window": 0}
        assert usage["window"]


def test_a_long_transcript_costs_no_more_than_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, path = Claude(), tmp_path / "t"
    told_lines = [client.prompt("z" * 1000), client.outcome("y" * 3000), client.answer(50_000, "w" * 500)]
    end = text_of([client.answer(60_000), client.outcome("y" * 3000), client.prompt("go")])
    read: list[int] = []

    class Counted(sources.Source):
        def read(self, most: int, offset: int) -> bytes:
            data = super().read(most, offset)
            read.append(len(data))
            return data

    monkeypatch.setattr(sources, "Source", Counted)
    block = text_of(told_lines)
    costs = []
    for size in (200_000, 5_000_000):
        path.write_bytes(block * (size // len(block)) + end)
        read.clear()
        assert context_usage(str(path), "claude", config=NONE)["tokens"] == 60_000
        costs.append((len(read), sum(read)))
    assert costs[0] == costs[1]
    assert 0 < costs[0][1] < 200_000


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="the recorded transcripts are not in this checkout")
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_recorded_sessions_never_show_usage_from_before_their_compaction(tmp_path: Path, agent: str) -> None:
    lines = (PAYLOADS / agent / "session.jsonl").read_bytes().splitlines(keepends=True)
    marks = {
        "claude": b"compact_boundary",
        "codex": b'"compacted"',
        "gemini": b"<state_snapshot>",
    }
    edge = next(at for at, line in enumerate(lines) if marks[agent] in line)
    shown = []
    for count in range(1, len(lines) + 1):
        (tmp_path / "t").write_bytes(b"".join(lines[:count]))
        usage = context_usage(str(tmp_path / "t"), agent, config=NONE)
        assert usage["tokens"] is not None
        shown.append(usage["tokens"])
    most = max(shown[:edge])
    assert most > 6000
    assert max(shown[edge:]) < most
    assert shown[edge] < most / 2
