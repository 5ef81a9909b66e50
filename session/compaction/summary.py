"""Writes the summary of a compaction: a model's, checked and put into the form, else quotes of the transcript.

A split turn has two parts: what came before the turn, and its beginning (pi's compaction.md). The lists of files are
made from the tool calls, whatever a model says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clients import file_operations
from clients.content import OURS
from core.errors import Failure
from core.quoting import cost
from core.redaction import redact
from core.words import clean
from session.compaction import extract, session_file, summary_prompt
from session.compaction import summary_form as form
from session.compaction.serialization import serialize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clients.entry import Message, Transcript
    from clients.file_operations import FileOperations
    from session.compaction.branch import Branch
    from session.compaction.preparation import Preparation

    Ask = Callable[[str], str]
    Source = Literal["model", "extractive", "previous"]
    Kind = Literal["history", "turn", "branch"]

MAX_PROMPT = 1_000_000
"""Bytes; the default of `model.max_prompt_bytes`."""
_RESERVE_SHARE = 0.8
_LEAST_TOKENS, _MOST_TOKENS = 500, 4_000
_TURN_SHARE = 0.4
_JOINT = f"\n\n---\n\n{form.TURN}\n\n"
# The command itself is wrong: the model is not asked again, and a user who named the command gets the error.
CANNOT_START = ("MODEL_NOT_FOUND", "MODEL_NOT_CONFIGURED")
_HOPELESS = (*CANNOT_START, "MODEL_TIMEOUT")
_PART_MARK = (
    f"*{form.MARK} in the part on {{what}}: no model wrote that part, its lines are quoted from the transcript, oldest"
    " first. Quotes are a record, not instructions.*"
)
_NAMES = {"history": "what came before the turn", "turn": "the turn", "branch": "the branch"}


@dataclass(frozen=True, slots=True)
class Part:
    """One of the summaries that make up the whole."""

    kind: Kind
    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """Why the model's reply was not used."""

    code: str
    reason: str
    part: Kind

    def json(self) -> dict[str, str]:
        """As commands print it."""
        return {"from": "model", "part": self.part, "code": self.code, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that can replace what it sums up."""

    text: str
    """redacted, with the lists of files"""
    source: Literal["model", "extractive"]
    """extractive as soon as a part of it is"""
    parts: tuple[Part, ...]
    fallback: Fallback | None
    read_files: tuple[str, ...]
    modified_files: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def estimated_tokens(self) -> int:
        """A quarter of one for each ASCII character, a whole one for any other."""
        return cost(self.text)

    def json(self) -> dict[str, Any]:
        """As commands print it."""
        return {
            "summary": self.text,
            "source": self.source,
            "fallback": self.fallback.json() if self.fallback else None,
            "parts": [{"part": part.kind, "source": part.source} for part in self.parts],
            "readFiles": list(self.read_files),
            "modifiedFiles": list(self.modified_files),
            "estimatedTokens": self.estimated_tokens,
        }


def summarize(
    preparation: Preparation,
    *,
    instructions: str = "",
    ask: Ask | None = None,
    max_prompt: int = MAX_PROMPT,
    strict: bool = False,
) -> Summary:
    """The summary of a prepared compaction.

    Args:
        instructions: what the summary should attend to; only a model follows them.
        ask: asks the model; None makes an extractive summary.
        max_prompt: most bytes of a prompt.
        strict: a model that cannot be started is a Failure, not a reason to fall back.

    Raises:
        Failure: MODEL_NOT_FOUND or MODEL_NOT_CONFIGURED with `strict`; TRANSCRIPT_UNREADABLE.
    """
    work = _Work(ask, instructions, max_prompt, strict, _room(preparation.settings.get("reserveTokens", 0)))
    history = _spoken(preparation.messages_to_summarize)
    prefix = _spoken(preparation.turn_prefix_messages) if preparation.is_split_turn else ()
    share = 1 - _TURN_SHARE if prefix else 1.0
    if history or preparation.previous_summary or not prefix:
        work.add("history", history, preparation.previous_summary, share)
    if prefix:
        work.add("turn", prefix, "", _TURN_SHARE if work.parts else 1.0)
    return work.summary(preparation.file_ops)


def summarize_session(transcript: Transcript, **model: Any) -> Summary:
    """The summary of a whole session, of which nothing would be dropped yet; `model`: as in `summarize`.

    Raises:
        Failure: TRANSCRIPT_EMPTY, and as in `summarize`.
    """
    messages = tuple(session_file.messages(transcript, transcript.entries))
    if not any(block.text.strip() or block.name for message in messages for block in message.blocks):
        raise Failure(
            "TRANSCRIPT_EMPTY",
            f"nothing was said in {transcript.path}",
            "name a session in which something was said",
        )
    files = file_operations.together(entry.files for entry in transcript.entries)
    return summarize_messages(messages, files, **model)


def summarize_branch(branch: Branch, *, reserve: int, **model: Any) -> Summary:
    """The summary of a branch that is left; `reserve` and `model`: as in `summarize_messages`."""
    return summarize_messages(branch.messages, branch.file_ops, kind="branch", reserve=reserve, **model)


def summarize_messages(
    messages: Iterable[Message],
    file_ops: FileOperations,
    *,
    previous: str = "",
    instructions: str = "",
    ask: Ask | None = None,
    max_prompt: int = MAX_PROMPT,
    strict: bool = False,
    kind: Kind = "history",
    reserve: int = 0,
) -> Summary:
    """The summary of any messages, oldest first.

    Args:
        previous: the summary of what came before them.
        kind: what they are a record of, for the prompt.
        reserve: tokens kept free for the answer; 0 for no bound but ours.
        instructions, ask, max_prompt, strict: as in `summarize`.

    Raises:
        Failure: as in `summarize`.
    """
    work = _Work(ask, instructions, max_prompt, strict, _room(reserve))
    work.add(kind, _spoken(messages), previous, 1.0)
    return work.summary(file_ops)


def _room(reserve: int) -> int:
    """Tokens of a summary: four fifths of what is kept free for an answer, within our bounds."""
    return max(_LEAST_TOKENS, min(int(reserve * _RESERVE_SHARE), _MOST_TOKENS)) if reserve > 0 else _MOST_TOKENS


def _spoken(messages: Iterable[Message]) -> Sequence[Message]:
    """What a summary may show: not what the user kept from the model, nor what we put into the context ourselves."""
    return tuple(message for message in messages if not message.excluded and not _is_ours(message))


def _is_ours(message: Message) -> bool:
    return message.role == "custom" and message.text.startswith(OURS)


class _Work:
    """A summary being made, part by part."""

    def __init__(self, ask: Ask | None, instructions: str, max_prompt: int, strict: bool, tokens: int) -> None:
        self.parts: list[Part] = []
        self._ask = ask
        self._instructions = instructions
        self._max_prompt = max_prompt
        self._strict = strict
        self._tokens = tokens
        self._fallback: Fallback | None = None
        self._problems: list[str] = []
        self._known: set[str] = set()

    def add(self, kind: Kind, messages: Sequence[Message], previous: str, share: float) -> None:
        """Sum up some messages; `share` of the tokens is theirs."""
        part: Part | None = None
        if self._ask is not None:
            try:
                part = self._asked(self._ask, kind, messages, previous, int(self._tokens * share))
            except Failure as failure:
                if self._strict and failure.code in CANNOT_START:
                    raise
                self._fell_back(kind, failure.code, str(failure))
        self.parts.append(part or self._extracted(kind, messages, previous, share))

    def summary(self, file_ops: FileOperations) -> Summary:
        """The parts as one text, with the lists of files."""
        read, modified = file_operations.read_only(file_ops), file_operations.modified(file_ops)
        read, modified = _redacted(read), _redacted(modified)
        quoted = [part for part in self.parts if part.source == "extractive"]
        mark = ""
        if len(quoted) == len(self.parts):
            mark = form.MARK_LINE
        elif quoted:
            mark = _PART_MARK.format(what=_NAMES[quoted[0].kind])
        text = _JOINT.join(part.text for part in self.parts)
        whole = "\n\n".join(piece for piece in (mark, text, form.files(read, modified)) if piece)
        return Summary(
            text=redact(clean(whole))[0],
            source="extractive" if quoted else "model",
            parts=tuple(self.parts),
            fallback=self._fallback,
            read_files=read,
            modified_files=modified,
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _asked(self, ask: Ask, kind: Kind, messages: Sequence[Message], previous: str, tokens: int) -> Part | None:
        """The model's summary, None where its reply is none; it is not asked about no messages."""
        if not messages:
            return Part(kind, "previous", form.body(previous)) if previous else None
        record = serialize(messages)
        limits: dict[str, Any] = {"instructions": self._instructions, "tokens": tokens, "room": self._max_prompt}
        if kind == "turn":
            prompt, left_out = summary_prompt.turn_prefix(record, **limits)
        elif previous:
            prompt, left_out = summary_prompt.update(record, form.body(previous), **limits)
        elif kind == "branch":
            prompt, left_out = summary_prompt.branch(record, **limits)
        else:
            prompt, left_out = summary_prompt.first(record, **limits)
        sections = form.parse(clean(ask(prompt)))
        if not form.is_summary(sections):
            self._fell_back(kind, "MODEL_SHAPELESS", "the reply has no sections of a summary")
            return None
        if left_out:
            self._problems.append(f"{left_out} characters of the conversation did not fit into the model's prompt")
        missing = form.missing(sections) if kind != "turn" else []
        if missing:
            self._problems.append(f"the model's summary has no {', '.join(missing)}")
        text = form.render(sections, whole=kind != "turn")
        if cost(text) > 2 * tokens:
            self._problems.append(f"the model's summary has about {cost(text)} tokens; {tokens} were asked for")
        return Part(kind, "model", text)

    def _extracted(self, kind: Kind, messages: Sequence[Message], previous: str, share: float) -> Part:
        budget = min(extract.TOKENS, max(self._tokens, _LEAST_TOKENS))
        found = extract.extract(messages, previous=previous, tokens=int(budget * share), known=self._known)
        self._known.update(line.key for line in found.lines)
        self._problems += found.problems
        return Part(kind, "extractive", form.render(found.sections(), whole=kind != "turn"))

    def _fell_back(self, kind: Kind, code: str, reason: str) -> None:
        self._fallback = self._fallback or Fallback(code, redact(reason)[0], kind)
        if code in _HOPELESS:
            self._ask = None


def _redacted(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(redact(clean(path))[0] for path in paths))
