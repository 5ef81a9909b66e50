"""The four ways in which a model answers: OpenAI chat and Responses, Anthropic, Gemini.

Each function takes the connection (`Wire`), what the client asked for, and the answer, and writes it: as server-sent
events where the client asked for a stream, else as one JSON object.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Protocol

Body = dict[str, Any]


class Wire(Protocol):
    """What an answer is written to."""

    path: str

    def send_json(self, code: int, value: Any) -> None: ...
    def start_events(self) -> None: ...
    def event(self, value: Any, *, named: bool = False) -> None: ...


@dataclass(frozen=True)
class Answer:
    """A scripted answer: its number, text, tool calls ({name, args}) and the tokens it claims."""

    number: int
    text: str
    calls: list[dict[str, Any]]
    tokens_in: int
    tokens_out: int


def chat(wire: Wire, body: Body, answer: Answer) -> None:
    usage = {
        "prompt_tokens": answer.tokens_in,
        "completion_tokens": answer.tokens_out,
        "total_tokens": answer.tokens_in + answer.tokens_out,
    }
    base = {
        "id": f"chatcmpl-{answer.number}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body.get("model", "mock-1"),
    }
    finish = "tool_calls" if answer.calls else "stop"
    tools = [
        {
            "index": i,
            "id": f"call_{answer.number}_{i}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for i, call in enumerate(answer.calls)
    ]
    if not body.get("stream"):
        message = {"role": "assistant", "content": answer.text, **({"tool_calls": tools} if tools else {})}
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        wire.send_json(200, {**base, "object": "chat.completion", "usage": usage, "choices": choices})
        return

    def delta(part: dict[str, Any], reason: str | None = None) -> None:
        wire.event({**base, "choices": [{"index": 0, "delta": part, "finish_reason": reason}]})

    wire.start_events()
    delta({"role": "assistant", "content": ""})
    half = (len(answer.text) + 1) // 2
    for part in filter(None, (answer.text[:half], answer.text[half:])):
        delta({"content": part})
    for tool in tools:
        delta({"tool_calls": [tool]})
    delta({}, finish)
    wire.event({**base, "choices": [], "usage": usage})
    wire.event("[DONE]")


def anthropic(wire: Wire, body: Body, answer: Answer) -> None:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text or not answer.calls else []
    content += [
        {"type": "tool_use", "id": f"toolu_mock{answer.number:04d}{i}", "name": call["name"], "input": call["args"]}
        for i, call in enumerate(answer.calls)
    ]
    usage = {
        "input_tokens": answer.tokens_in,
        "output_tokens": answer.tokens_out,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    stop = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    message = {
        "id": f"msg_mock{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "mock-1"),
        "content": content,
        **stop,
        "usage": usage,
    }
    if not body.get("stream"):
        wire.send_json(200, message)
        return
    wire.start_events()
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    wire.event({"type": "message_start", "message": opening}, named=True)
    for i, block in enumerate(content):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            arguments = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
        wire.event({"type": "content_block_start", "index": i, "content_block": empty}, named=True)
        wire.event({"type": "content_block_delta", "index": i, "delta": delta}, named=True)
        wire.event({"type": "content_block_stop", "index": i}, named=True)
    wire.event({"type": "message_delta", "delta": stop, "usage": usage}, named=True)
    wire.event({"type": "message_stop"}, named=True)


def responses(wire: Wire, body: Body, answer: Answer) -> None:
    items: list[dict[str, Any]] = []
    if answer.text or not answer.calls:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
        items.append({**message, "id": f"msg_{answer.number}"})
    items += [
        {
            "type": "function_call",
            "id": f"fc_{answer.number}_{i}",
            "call_id": f"call_{answer.number}_{i}",
            **dict(zip(("name", "namespace"), reversed(call["name"].split("/")), strict=False)),
            "arguments": json.dumps(call["args"]),
            "status": "completed",
        }
        for i, call in enumerate(answer.calls)
    ]
    response = {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": body.get("model", "mock-1"),
        "output": items,
        "usage": {
            "input_tokens": answer.tokens_in,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.tokens_in + answer.tokens_out,
        },
    }
    if not body.get("stream"):
        wire.send_json(200, response)
        return
    wire.start_events()
    opening = {**response, "status": "in_progress", "output": [], "usage": None}
    wire.event({"type": "response.created", "response": opening}, named=True)
    for i, item in enumerate(items):
        empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
        started = {**item, "status": "in_progress", **empty}
        wire.event({"type": "response.output_item.added", "output_index": i, "item": started}, named=True)
        if item["type"] == "message":
            at = {"item_id": item["id"], "output_index": i, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            wire.event({"type": "response.content_part.added", **at, "part": part}, named=True)
            wire.event({"type": "response.output_text.delta", **at, "delta": answer.text}, named=True)
            wire.event({"type": "response.output_text.done", **at, "text": answer.text}, named=True)
        wire.event({"type": "response.output_item.done", "output_index": i, "item": item}, named=True)
    wire.event({"type": "response.completed", "response": response}, named=True)


def gemini(wire: Wire, body: Body, answer: Answer) -> None:
    parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text or not answer.calls else []
    parts += [{"functionCall": {"name": call["name"], "args": call["args"]}} for call in answer.calls]
    response = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": answer.tokens_in,
            "candidatesTokenCount": answer.tokens_out,
            "totalTokenCount": answer.tokens_in + answer.tokens_out,
        },
        "modelVersion": "mock",
        "responseId": f"r{answer.number}",
    }
    if "streamGenerateContent" not in wire.path:
        wire.send_json(200, response)
        return
    wire.start_events()
    wire.event(response)


BY_PATH = (("/chat/completions", chat), ("/responses", responses), ("/messages", anthropic), ("enerateContent", gemini))
"""Which one answers, by the end of the request's path."""
