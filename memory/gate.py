"""The write gate: is a text worth keeping, and may it be handed to an agent unasked?

`allow`: a durable fact. `hold`: ambiguous, kept but not injected. `discard`: low signal, kept but never shown unasked.
An annotation in front of the text decides (the mirrored CLI's form); without one our rules do. Hot path: string
methods only, no `re`.
"""

from __future__ import annotations

from core import json_text, words
from memory.noise import ACKNOWLEDGEMENTS, PLANS, SUMMARIES, TRACES, begins_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Gated(TypedDict):
        """What the gate says of a text.

        `text` is the text without its annotation, `category` the annotation's (an id or an alias, "" without one),
        `fallback` whether rules decided, since there was no annotation that could be read.
        """

        text: str
        verdict: str
        confidence: float
        reason: str
        category: str
        fallback: bool


VERSION = "v1"
VERDICTS = ("allow", "hold", "discard")
SHORTEST = 12
"""Characters below which a text says too little (the mirrored CLI's trust pass has the same bound)."""
MAX_REASON = 120
_ANNOTATED_CONFIDENCE = 0.65
_WIDE = 3  # a character of a script without spaces says as much as some three letters
_MARKERS = ("🔴", "🟡", "🟢")
_LONGEST_ANNOTATION = 600
_LOOKED_AT = 4_000
_LONG_SLUDGE = 240

_LEVELS = frozenset(("info debug warn warning error err trace fatal notice critical").split())
_DURABLE = frozenset(
    (
        "always never decided decision prefer prefers preferred use uses using must should because requires"
        " required rule convention instead run runs lives default means fixed cause caused avoid until since"
    ).split()
)
# With which a note of two words says how things are to be done: "use pnpm", "prefer rg".
_ORDERS = frozenset("use prefer avoid never always".split())
_NO_NAMES = frozenset("not mind ok yes no again more less".split())
_QUESTION_MARKS = "?？؟"
_PAUSES = ".,!;:—–"


NOT_REMEMBERED = "not remembered: say it in a sentence: what, and why"
"""What whoever wrote a discarded text is told."""


def judge(text: str) -> Gated:
    """The verdict on a trimmed text: its annotation's, else by rules.

    Of a verb and a name ("use pnpm") the text says that it is a preference: it is too short for recall by itself.
    """
    annotated = _annotation(text)
    if annotated is not None:
        return annotated
    if _is_order(text):
        text = f"Preference: {text}"
    verdict, confidence, reason = _by_rules(text)
    return {
        "text": text,
        "verdict": verdict,
        "confidence": confidence,
        "reason": reason,
        "category": "",
        "fallback": True,
    }


def better(one: str, other: str) -> str:
    """The better of two verdicts: allow, then hold, then discard."""
    return one if VERDICTS.index(one) <= VERDICTS.index(other) else other


def width(text: str) -> int:
    """The length of a text in letters; a character of a script without spaces (Chinese, Thai …) counts as three."""
    if text.isascii():
        return len(text)
    return len(text) + (_WIDE - 1) * sum("\u0e00" <= c <= "\u0e7f" or (c >= "\u3040" and c.isalpha()) for c in text)


def _annotation(text: str) -> Gated | None:
    """`[gate=allow confidence=.9 category=jc:x reason=why] text`, perhaps behind a marker; None where there is none."""
    body = text
    if not text.isascii():
        for marker in _MARKERS:
            if body.startswith(marker):
                body = body[len(marker) :].lstrip("\ufe0f \t\r\n")
                break
    if not body.startswith("["):
        return None
    head = body[1:_LONGEST_ANNOTATION]
    fields, end = _fields(head)
    verdict = (fields.get("gate") or fields.get("verdict") or "").lower()
    if not end or verdict not in VERDICTS:
        return None
    reason = " ".join((fields.get("reason") or "").split())[:MAX_REASON]
    return {
        "text": body[1 + end :].strip(),
        "verdict": verdict,
        "confidence": _confidence(fields.get("confidence") or fields.get("conf") or ""),
        "reason": reason or "annotated",
        "category": fields.get("category") or "",
        "fallback": False,
    }


def _fields(head: str) -> tuple[dict[str, str], int]:
    """The `key=value` pairs up to the closing bracket, and where the text behind it begins; 0 where none closes.

    A value is quoted, or goes up to the next key that we know.
    """
    fields: dict[str, str] = {}
    key, value, quote = "", "", ""
    at, size = 0, len(head)
    while at < size:
        character = head[at]
        at += 1
        if quote:
            if character == quote:
                quote = ""
            else:
                value += character
            continue
        if character == "]":
            if key:
                fields.setdefault(key, value.strip())
            return fields, at
        if character in "\"'" and key and not value.strip():
            quote = character
            continue
        if character.isspace() or not key:
            found = _key_at(head, at if character.isspace() else at - 1)
            if found:
                if key:
                    fields.setdefault(key, value.strip(" \t\r\n,;"))
                key, value = found, ""
                at = head.index("=", at - 1) + 1
                continue
        value += character
    return fields, 0


def _key_at(head: str, at: int) -> str:
    for key in ("gate", "verdict", "confidence", "conf", "category", "reason"):
        if head[at : at + len(key)].lower() == key and head[at + len(key) :].lstrip()[:1] == "=":
            return key
    return ""


def _confidence(text: str) -> float:
    """A number from 0 to 1; a percentage will do. What is neither is as if it were missing: .65."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return _ANNOTATED_CONFIDENCE
    return value if 0 <= value <= 1 else _ANNOTATED_CONFIDENCE


def _by_rules(text: str) -> tuple[str, float, str]:
    """Verdict, confidence and reason of a text without annotation."""
    if width(text) < SHORTEST:
        return "discard", 0.9, "too short to say anything"
    lower = text[:_LOOKED_AT].lower().replace("\u2019", "'")
    if lower.startswith("task: "):  # ADR-0203, stage 2: what the hot zone writes
        return "allow", 0.8, "the task of a session"
    return _sludge(lower) or _noise(text[:_LOOKED_AT]) or _question(lower) or _statement(text, lower)


def _is_order(text: str) -> bool:
    """Whether a text too short for a statement is a verb and a name: "use pnpm"."""
    if width(text) >= SHORTEST:
        return False
    verb, *names = text.lower().rstrip(".!").split() or [""]
    named = any(len(name) > 1 and name not in words.STOP_WORDS and name not in _NO_NAMES for name in names)
    return verb in _ORDERS and named


def _sludge(lower: str) -> tuple[str, float, str] | None:
    """Talk about the work instead of what came of it."""
    if lower.startswith("<") and any(mark in lower for mark in TRACES):
        return "discard", 0.85, "a tool call, not a statement"
    if begins_with(lower, PLANS) and not lower.startswith("let me know"):
        verdict = "hold" if len(lower) > _LONG_SLUDGE else "discard"
        return verdict, 0.8, "announces a step instead of stating a fact"
    if begins_with(lower, SUMMARIES):
        return "hold", 0.75, "an assistant's summary of its own work"
    for opening in ACKNOWLEDGEMENTS if lower.startswith(tuple(ACKNOWLEDGEMENTS)) else ():
        if lower.startswith(opening):
            behind = lower[len(opening) :]
            if behind.lstrip()[:1] in _PAUSES:
                if width(behind.strip(_PAUSES + " ")) < SHORTEST:
                    return "discard", 0.85, "an acknowledgement"
                return "hold", 0.7, "opens as an acknowledgement"
    return None


def _question(lower: str) -> tuple[str, float, str] | None:
    """A question, or several, with no statement beside them."""
    if lower[-1] not in _QUESTION_MARKS:
        return None
    body = lower.rstrip(_QUESTION_MARKS + " ")
    for end in (". ", "! ", ".\n", "\n", "。", "！", ": "):
        if end in body:
            return None
    return "hold", 0.7, "a question without its answer"


def _noise(text: str) -> tuple[str, float, str] | None:
    """What machines print: log lines, metrics, ids, progress bars, data."""
    if text[0] in "{[" and text[-1] in "}]":
        try:
            value = json_text.loads(text)
        except json_text.InvalidJSON:
            value = None
        if isinstance(value, (dict, list)) and not _has_prose(value):
            return "discard", 0.85, "data without a sentence in it"
    chunks = text.split()
    if len(set(text) - {" ", "\n", "\t"}) <= 2:
        return "discard", 0.9, "one sign over and over"
    prose = [chunk for chunk in chunks if _is_word(chunk)]
    lines = [line for line in text.splitlines() if line.strip()]
    if all(map(_is_log_line, lines)):
        return "hold", 0.75, "log lines, not a statement"
    if len(prose) <= 4 and "%" in text and any(mark * 4 in text for mark in "█▓▒░#=-━•>"):
        return "discard", 0.85, "a progress bar"
    if not prose:
        if all(any(sign.isdigit() for sign in chunk) or not any(map(str.isalpha, chunk)) for chunk in chunks):
            return "discard", 0.85, "numbers, times or ids without words"
        return "hold", 0.6, "no words that say what it is about"
    measured = sum(map(_is_reading, chunks)) if len(prose) < len(chunks) else 0
    plain = {chunk.lower().strip(".,;:()") for chunk in prose}
    if measured >= 3 and measured >= len(prose) and text.isascii() and not plain & (words.STOP_WORDS | _DURABLE):
        return "hold", 0.65, "readings without a statement"
    return None


def _is_reading(chunk: str) -> bool:
    """A number with its name or its unit: `cpu=93%`, `12ms`, `4.2MB`."""
    bare = chunk.strip(",;()[]")
    if "=" in bare:
        return any(map(str.isdigit, bare))
    return (
        bare[:1].isdigit()
        and bare.lower().rstrip("%abcghikmnpstu/µ").replace(".", "").isdigit()
        and not bare[-1:].isdigit()
    )


def _is_word(chunk: str) -> bool:
    """Whether a chunk is a word of some language, punctuation aside."""
    bare = chunk.strip(".,;:!?()[]{}\"'`*_#-–—…")
    if len(bare) < 2:
        return bool(bare) and not bare.isascii() and bare.isalpha()
    return bare.isalpha() or (not bare.isascii() and any(map(str.isalpha, bare))) or _is_compound(bare)


def _is_compound(bare: str) -> bool:
    parts = bare.replace("-", "'").replace("/", "'").split("'")
    return len(parts) > 1 and all(part.isalpha() for part in parts)


def _is_log_line(line: str) -> bool:
    """A time of day or a date and a time, then a level: how loggers begin a line, brackets aside."""
    head = line.replace("[", " ").replace("]", " ").replace("|", " ").split()[:4]
    for at, chunk in enumerate(head):
        if chunk.lower().strip(":,") in _LEVELS:
            return at > 0 and any(_is_time(before) for before in head[:at])
    return False


def _is_time(chunk: str) -> bool:
    return chunk.count(":") >= 2 and sum(map(str.isdigit, chunk)) >= 6


def _has_prose(value: object) -> bool:
    """Whether some string of a JSON value is a phrase of four words or more."""
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, str) and sum(map(_is_word, item.split())) >= 4:
            return True
        if isinstance(item, dict):
            work.extend(item.values())
        elif isinstance(item, list):
            work.extend(item)
    return False


def _statement(text: str, lower: str) -> tuple[str, float, str]:
    """What is left is allowed, the surer the more concrete it is."""
    durable = not _DURABLE.isdisjoint(words.split(lower))
    concrete = any(map(str.isdigit, text[:_LOOKED_AT])) or "/" in text or "`" in text or "_" in text
    confidence = 0.6 + 0.15 * durable + 0.1 * concrete + 0.05 * (len(text) >= 40)
    if durable:
        reason = "states a rule, a decision or how something is done"
    elif concrete:
        reason = "states something concrete"
    else:
        reason = "a plain statement"
    return "allow", round(confidence, 2), reason
