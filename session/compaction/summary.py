"""Writes the summary of a compaction: a model's, checked and put into the form, else quotes of the transcript.

A split turn has two parts: what came before the turn, and its beginning (pi's compaction.md). The lists of files are
made from the tool calls, whatever a model says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clients.content import OURS
from clients.entry import FileOperations, Message
from core.errors import Failure
from core.quoting import cost
from core.redaction import redact
from core.words import clean
from session.compaction import plain_summary, summary_prompt
from session.compaction import summary_form as form
from session.compaction.preparation import Preparation
from session.compaction.serialization import serialize

Kind = Literal["history", "turn", "branch"]

_RESERVE_SHARE = 0.8
_LEAST_TOKENS, _MOST_TOKENS = 500, 4_000
_TURN_SHARE = 0.4
_JOINT = f"\n\n---\n\n{form.TURN}\n\n"
# The command itself is wrong: the model is not asked again, and a user who named the command gets the error.
CANNOT_START = ("MODEL_NOT_FOUND", "MODEL_NOT_CONFIGURED")
_HOPELESS = (*CANNOT_START, "MODEL_TIMEOUT")
_PART_MARK = f"*{plain_summary.MARK} in one part: no model wrote it, its lines are quotes, and no instructions.*"


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a summary is made from. `share` is that of the tokens."""

    kind: Kind
    messages: Sequence[Message]
    previous: str = ""
    share: float = 1.0


@dataclass(slots=True)
class Model:
    """Who writes a summary: `ask` None for quotes. `strict`: a model that cannot be started is a Failure."""

    ask: Callable[[str], str] | None
    instructions: str
    max_prompt: int
    strict: bool


def parts_of(preparation: Preparation) -> list[Part]:
    """The parts of a compaction's summary: what came before the turn that is split, and that turn's beginning."""
    history, prefix = spoken(preparation.messages_to_summarize), spoken(preparation.turn_prefix_messages)
    previous = preparation.previous_summary
    if not prefix:
        return [Part("history", history, previous)]
    if not history and not previous:
        return [Part("turn", prefix)]
    return [Part("history", history, previous, 1 - _TURN_SHARE), Part("turn", prefix, "", _TURN_SHARE)]


def spoken(messages: Iterable[Message]) -> tuple[Message, ...]:
    """What a summary may show: not what the user kept from the model, nor what we put into the context ourselves."""
    return tuple(
        message
        for message in messages
        if not message.excluded and not (message.role == "custom" and message.text.startswith(OURS))
    )


def summarize(parts: Sequence[Part], file_ops: FileOperations, model: Model, *, reserve: int = 0) -> dict[str, Any]:
    """The summary as commands print it; `problems` are what it lacks.

    Args:
        reserve: tokens kept free for the answer; 0 for no bound but ours.

    Raises:
        Failure: MODEL_NOT_FOUND or MODEL_NOT_CONFIGURED of a strict model.
    """
    tokens = max(_LEAST_TOKENS, min(int(reserve * _RESERVE_SHARE), _MOST_TOKENS)) if reserve > 0 else _MOST_TOKENS
    texts: list[str] = []
    sources: list[dict[str, str]] = []
    problems: list[str] = []
    fallback: dict[str, str] | None = None
    for part in parts:
        text = ""
        if model.ask is not None and (part.messages or part.previous):
            try:
                text = _asked(model.ask, part, model, int(tokens * part.share), problems)
            except Failure as failure:
                if model.strict and failure.code in CANNOT_START:
                    raise
                reason = redact(str(failure))[0]
                fallback = fallback or {"from": "model", "part": part.kind, "code": failure.code, "reason": reason}
                model.ask = None if failure.code in _HOPELESS else model.ask
        source = "extractive" if not text else "model" if part.messages else "previous"
        sources.append({"part": part.kind, "source": source})
        texts.append(text or _quoted(part, min(plain_summary.TOKENS, tokens), problems))
    quoted = [one["source"] == "extractive" for one in sources]
    mark = plain_summary.MARK_LINE if all(quoted) else _PART_MARK if any(quoted) else ""
    read, modified = _redacted(file_ops.read_only), _redacted(file_ops.modified)
    whole = "\n\n".join(piece for piece in (mark, _JOINT.join(texts), form.files(read, modified)) if piece)
    summary = redact(clean(whole))[0]
    return {
        "summary": summary,
        "source": "extractive" if any(quoted) else "model",
        "fallback": fallback,
        "parts": sources,
        "readFiles": read,
        "modifiedFiles": modified,
        "estimatedTokens": cost(summary),
        "problems": list(dict.fromkeys(problems)),
    }


def _asked(ask: Callable[[str], str], part: Part, model: Model, tokens: int, problems: list[str]) -> str:
    """The model's summary of a part; it is not asked about no messages."""
    earlier = form.body(part.previous)
    if not part.messages:
        return earlier
    prompt, left_out = summary_prompt.of(
        serialize(part.messages),
        part.kind,
        earlier,
        instructions=model.instructions,
        tokens=tokens,
        room=model.max_prompt,
    )
    sections = form.parse(clean(ask(prompt)))
    if not form.is_summary(sections):
        raise Failure("MODEL_SHAPELESS", "the reply has no sections of a summary", "name another model.command")
    if left_out:
        problems.append(f"{left_out} characters of the conversation did not fit into the model's prompt")
    missing = form.missing(sections) if part.kind != "turn" else []
    if missing:
        problems.append(f"the model's summary has no {', '.join(missing)}")
    text = form.render(sections, whole=part.kind != "turn")
    if cost(text) > 2 * tokens:
        problems.append(f"the model's summary has about {cost(text)} tokens; {tokens} were asked for")
    return text


def _quoted(part: Part, tokens: int, problems: list[str]) -> str:
    sections, left_out = plain_summary.sections(part.messages, part.previous, int(tokens * part.share))
    if left_out:
        problems.append(f"{left_out} lines of the previous summary did not fit and were left out")
    return form.render(sections, whole=part.kind != "turn")


def _redacted(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(redact(clean(path))[0] for path in paths))
