"""What the messages of all clients have in common: parts with texts, and texts that nobody said. Hot path.

Whatever comes in is foreign: every function takes anything, and raises nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Plan, PlanStep, Tool

OURS = "<joelclaw-memory"
# What clients put into the user's mouth: surroundings, instructions, reminders, commands, summaries.
_NOT_SAID = (
    OURS,
    "<environment_context",
    "<user_instructions",
    "<system-reminder",
    "<session_context",
    "<hook_context",
    "<state_snapshot",
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<turn_aborted",
    "# AGENTS.md",
    "[Request interrupted by user",
)
# Such a span may also stand behind what was said: clients append what a hook returned.
_SPANS = (
    (OURS, "</joelclaw-memory>"),
    ("<hook_context>", "</hook_context>"),
    ("<system-reminder>", "</system-reminder>"),
)
_IMAGE_CHARS = 4800  # as pi counts an image (its estimateTokens): 1200 tokens
# Members of a part that are no text for the model.
_NO_TEXT = (
    *("type", "id", "tool_use_id", "data", "encrypted_content"),
    *("signature", "thinkingSignature", "thoughtSignature", "textSignature"),
)


def table(value: object) -> dict[str, Any]:
    """`value` if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    """The objects in a list of JSON, none where it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def string(value: object) -> str:
    """`value` if it is text, else ""."""
    return value if isinstance(value, str) else ""


def whole(value: object) -> int:
    """`value` if it is a number above 0 and no more than 10**12, else 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1e12:
        return 0
    return int(value)


def text_of(value: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text of a message's content: a string, or the parts whose `type` is one of `kinds`, a line each."""
    if isinstance(value, str):
        return value.strip()
    texts = [string(part.get("text")) for part in rows(value) if part.get("type") in kinds]
    return "\n".join(text for text in texts if text.strip()).strip()


def typed(value: object, kinds: tuple[str | None, ...] = ("text",)) -> str:
    """What a person typed: as `text_of`, without the parts and spans that the client or a hook put there."""
    if isinstance(value, str):
        return _without_others(value)
    texts = [_without_others(string(part.get("text"))) for part in rows(value) if part.get("type") in kinds]
    return "\n".join(text for text in texts if text)


def without_ours(text: str) -> str:
    """A text less what we injected into it: it is in the memory already, and its frame is ours alone."""
    return _cut(text, *_SPANS[0]) if OURS in text else text


def _without_others(text: str) -> str:
    text = text.strip()
    if text.startswith(_NOT_SAID):
        return ""
    for begin, end in _SPANS:
        if begin in text:
            text = _cut(text, begin, end).strip()
    return text


def _cut(text: str, begin: str, end: str) -> str:
    kept = []
    while True:
        start = text.find(begin)
        if start < 0:
            break
        kept.append(text[:start])
        stop = text.find(end, start)
        if stop < 0:  # cut off by the client: all that follows is the injection's
            text = ""
            break
        text = text[stop + len(end) :]
    return "".join([*kept, text])


def tool(call: object, name: object, files: list[str], command: str, given: object) -> Tool:
    """One tool call; `given` is its input."""
    target = files or paths(given, "file_path", "path", "notebook_path", "absolute_path", "filePath")
    return {
        "call": string(call),
        "name": string(name),
        "files": files,
        "command": command,
        "target": target[0] if target else "",
        "given": "\n".join(texts_in(given)),
    }


def texts_in(value: object) -> list[str]:
    """All strings of a value, in order, at any depth; keys are none."""
    found: list[str] = []
    waiting = [value]
    while waiting:  # not by recursion: the value is as deep as its author liked
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, dict):
            waiting.extend(reversed(one.values()))
    return found


def plan(steps: object, text_names: tuple[str, ...]) -> Plan | None:
    """A plan that a tool was given as a list of steps; None where it is none."""
    found: list[PlanStep] = []
    for number, row in enumerate(rows(steps), 1):
        text = next((string(row.get(name)) for name in text_names if row.get(name)), "")
        if text:
            found.append({"id": str(number), "text": text, "status": string(row.get("status"))})
    return {"kind": "plan", "whole": True, "steps": found} if found else None


def paths(given: object, *names: str) -> list[str]:
    """The first of the named fields that holds a path."""
    fields = table(given)
    for name in names:
        path = string(fields.get(name)).strip()
        if path:
            return [path]
    return []


def characters(value: object) -> int:
    """About how many characters of context a value takes: all its texts; an image counts as 4800 (pi's figure)."""
    count = 0
    waiting = [value]
    while waiting:  # not by recursion: the value is as deep as its author liked
        one = waiting.pop()
        if isinstance(one, str):
            count += len(one)
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            if one.get("type") in ("image", "input_image"):
                count += _IMAGE_CHARS
            else:
                waiting.extend(inner for name, inner in one.items() if name not in _NO_TEXT)
    return count
