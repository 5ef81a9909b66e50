"""The write gate: is a text worth keeping, and may it be handed to an agent unasked?

`allow`: a durable fact. `hold`: ambiguous, kept but not injected. `discard`: low signal, kept but never shown unasked.
An annotation in front of the text decides (the mirrored CLI's form); without one our rules do, which know what is no
fact: talk about the work, a question, what a machine prints. What decides something is not told from words. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from memory import noise

if TYPE_CHECKING:
    from typing import TypedDict

    class Gated(TypedDict):
        """What the gate says: the text without its annotation, the annotation's category, whether rules decided."""

        text: str
        verdict: str
        confidence: float
        reason: str
        category: str
        fallback: bool


VERSION = "v1"
VERDICTS = ("allow", "hold", "discard")  # the better one first
SHORTEST = 12  # characters below which a text says too little (the mirrored CLI's trust pass has the same bound)
MAX_REASON = 120
_ANNOTATED_CONFIDENCE = 0.65
_WIDE = 3  # a character of a script without spaces says as much as some three letters
_MARKERS = ("🔴", "🟡", "🟢")
_KEYS = "gate|verdict|confidence|conf|category|reason"
_ANNOTATION = r"""\[((?:=\s*"[^"]*"|=\s*'[^']*'|[^\]])*)\]"""
_FIELD = rf"""(?:^|[\s,;])({_KEYS})\s*=\s*("[^"]*"|'[^']*'|.*?)(?=[\s,;]+(?:{_KEYS})\s*=|[\s,;]*$)"""
_LONGEST_ANNOTATION = 600
_LOOKED_AT = 4_000
_LONG_SLUDGE = 240
_LEVELS = frozenset(("info debug warn warning error err trace fatal notice critical").split())
# With which a note of two words says how things are to be done: "use pnpm", "prefer rg".
_ORDERS = frozenset("use prefer avoid never always".split())
_NO_NAMES = frozenset("not mind ok yes no again more less".split())
_QUESTION_MARKS = "?？؟"
_STATEMENT_ENDS = (". ", "! ", ".\n", "\n", "。", "！", ": ")
_PAUSES = ".,!;:—–"
NOT_REMEMBERED = "not remembered: write it as a sentence that says what and why"  # said of a discarded text


def judge(text: str) -> Gated:
    """The verdict on a trimmed text: its annotation's, else by rules. "use pnpm" becomes "Preference: use pnpm"."""
    annotated = _annotation(text)
    if annotated is not None:
        return annotated
    if _is_order(text):
        text = f"Preference: {text}"
    verdict, confidence, reason = _by_rules(text)
    return {
        "text": text, "verdict": verdict, "confidence": confidence, "reason": reason, "category": "", "fallback": True,
    }  # fmt: skip


def width(text: str) -> int:
    """The length of a text in letters; a character of a script without spaces (Chinese, Thai …) counts as three."""
    if text.isascii():
        return len(text)
    return len(text) + (_WIDE - 1) * sum("\u0e00" <= c <= "\u0e7f" or (c >= "\u3040" and c.isalpha()) for c in text)


def _annotation(text: str) -> Gated | None:
    """`[gate=allow confidence=.9 category=jc:x reason=why] text`, perhaps behind a marker; None where there is none."""
    body = text[1:].lstrip("\ufe0f \t\r\n") if text.startswith(_MARKERS) else text
    start = body[:_LONGEST_ANNOTATION].lower()
    if not start.startswith("[") or not ("gate" in start or "verdict" in start):
        return None
    import re

    head = re.match(_ANNOTATION, body[:_LONGEST_ANNOTATION])
    fields: dict[str, str] = {}
    for name, value in re.findall(_FIELD, head[1], re.IGNORECASE | re.DOTALL) if head else ():
        fields.setdefault(name.lower(), value[1:-1] if value[:1] in ("'", '"') and value[-1] == value[0] else value)
    verdict = (fields.get("gate") or fields.get("verdict") or "").lower()
    if head is None or verdict not in VERDICTS:
        return None
    given = fields.get("confidence") or fields.get("conf") or ""
    try:
        confidence = float(given[:-1]) / 100 if given.endswith("%") else float(given)
    except ValueError:
        confidence = -1.0
    return {
        "text": body[head.end() :].strip(),
        "verdict": verdict,
        "confidence": confidence if 0 <= confidence <= 1 else _ANNOTATED_CONFIDENCE,
        "reason": " ".join(fields.get("reason", "").split())[:MAX_REASON] or "annotated",
        "category": fields.get("category", "").strip(),
        "fallback": False,
    }


def _is_order(text: str) -> bool:
    """Whether a text too short for a statement is a verb and a name: "use pnpm"."""
    if width(text) >= SHORTEST:
        return False
    verb, *names = text.lower().rstrip(".!").split() or [""]
    named = any(len(name) > 1 and name not in words.STOP_WORDS and name not in _NO_NAMES for name in names)
    return verb in _ORDERS and named


def _by_rules(text: str) -> tuple[str, float, str]:
    """Verdict, confidence and reason of a text without annotation."""
    if width(text) < SHORTEST:
        return "discard", 0.9, "too short to say anything"
    text = text[:_LOOKED_AT]
    lower = text.lower().replace("\u2019", "'")
    if lower.startswith("task: "):  # ADR-0203, stage 2: what the hot zone writes
        return "allow", 0.8, "the task of a session"
    found = _talk(lower) or _printed(text)
    if found:
        return found
    asked = lower.rstrip(_QUESTION_MARKS + " ")
    if lower[-1] in _QUESTION_MARKS and not any(end in asked for end in _STATEMENT_ENDS):
        return "hold", 0.7, "a question without its answer"
    return "allow", 0.65, "a statement"


def _talk(lower: str) -> tuple[str, float, str] | None:
    """Talk about the work instead of what came of it."""
    kind = noise.talk(lower)
    if kind == "trace":
        return "discard", 0.85, "a tool call, not a statement"
    if kind == "summary":
        return "hold", 0.75, "an assistant's summary of its own work"
    if kind == "plan" and not lower.startswith("let me know"):
        verdict = "hold" if len(lower) > _LONG_SLUDGE else "discard"
        return verdict, 0.8, "announces a step and states no fact"
    if kind != "acknowledgement":
        return None
    is_all = width((noise.acknowledged(lower) or "").strip(_PAUSES + " \n")) < SHORTEST
    return ("discard", 0.85, "an acknowledgement") if is_all else ("hold", 0.7, "opens as an acknowledgement")


def _printed(text: str) -> tuple[str, float, str] | None:
    """What machines print: data, numbers and ids, log lines, readings."""
    if text[0] in "{[" and _is_data(text):
        return "discard", 0.85, "data without a sentence in it"
    chunks = text.split()
    prose = sum(map(_is_word, chunks))
    if not prose or len(set(text) - {" ", "\n", "\t"}) <= 2:
        return "discard", 0.85, "no words that say what it is about"
    if all(_is_log_line(line) for line in text.splitlines() if line.strip()):
        return "hold", 0.75, "log lines, not a statement"
    if prose <= sum(map(_is_reading, chunks)):
        return "hold", 0.65, "readings without a statement"
    return None


def _is_data(text: str) -> bool:
    """Whether a text is JSON, of which no string is a phrase of four words or more."""
    try:
        json_text.loads(text)
    except json_text.InvalidJSON:
        return False
    return not any(string.count(" ") >= 3 for string in text.split('"')[1::2])


def _is_word(chunk: str) -> bool:
    """Whether a chunk is a word of some language, punctuation and hyphens aside."""
    bare = chunk.strip(".,;:!?()[]{}\"'`*_#-–—…").replace("-", "").replace("/", "").replace("'", "")
    return len(bare) > 1 and bare.isalpha() if bare.isascii() else any(map(str.isalpha, bare))


def _is_reading(chunk: str) -> bool:
    """A number with its name or its unit: `cpu=93%`, `12ms`, `4.2MB`."""
    bare = chunk.strip(",;()[]").lower()
    if "=" in bare:
        return any(map(str.isdigit, bare))
    number = bare.rstrip("%abcghikmnpstu/µ")
    return number != bare and number[:1].isdigit() and number.replace(".", "").isdigit()


def _is_log_line(line: str) -> bool:
    """A time of day or a date and a time, then a level: how loggers begin a line, brackets aside."""
    head = line.replace("[", " ").replace("]", " ").replace("|", " ").lower().split()[:4]
    level = next((at for at, chunk in enumerate(head) if chunk.strip(":,") in _LEVELS), 0)
    return any(chunk.count(":") >= 2 and sum(map(str.isdigit, chunk)) >= 6 for chunk in head[:level])
