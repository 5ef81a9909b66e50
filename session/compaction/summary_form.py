"""The form of a summary: six headings, three more below Progress, then the lists of files (pi's compaction.md).

Models vary it: `parse` reads what it can, `render` writes the form. The lists of files are never the model's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

GOAL = "Goal"
CONSTRAINTS = "Constraints & Preferences"
PROGRESS = "Progress"
DONE = "Done"
IN_PROGRESS = "In Progress"
BLOCKED = "Blocked"
DECISIONS = "Key Decisions"
NEXT = "Next Steps"
CONTEXT = "Critical Context"
SECTIONS = (GOAL, CONSTRAINTS, PROGRESS, DONE, IN_PROGRESS, BLOCKED, DECISIONS, NEXT, CONTEXT)
_SUBSECTIONS = (DONE, IN_PROGRESS, BLOCKED)
MAIN = tuple(name for name in SECTIONS if name not in _SUBSECTIONS)

TURN = "**Turn Context (split turn):**"
"""The heading between the two parts of a split turn, as in pi's session files."""
NOTHING = "(none)"
_EMPTY = ("", NOTHING, "none", "n/a", "nothing")
_LEAST_SECTIONS = 2
# What models call the sections besides.
_ALIASES = {
    **{name.lower().replace("&", "and"): name for name in SECTIONS},
    **dict.fromkeys(("goals", "objective"), GOAL),
    **dict.fromkeys(("constraints", "preferences", "requirements"), CONSTRAINTS),
    **dict.fromkeys(("completed",), DONE),
    **dict.fromkeys(("current work", "current state"), IN_PROGRESS),
    **dict.fromkeys(("blockers",), BLOCKED),
    **dict.fromkeys(("decisions",), DECISIONS),
    **dict.fromkeys(("next step", "pending tasks", "remaining work"), NEXT),
    **dict.fromkeys(("context",), CONTEXT),
}
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_FENCE = re.compile(r"(`{3,}|~{3,})\s*([\w-]*)$")
_WRAPPERS = ("", "markdown", "md", "text", "txt")
_HIDDEN = re.compile(r"\s*<(analysis|think|thinking)>.*?</\1>", re.IGNORECASE | re.DOTALL)
"""What a model says to itself before it answers."""
_TAGS = ("<summary>", "</summary>")
_FILES = re.compile(r"<(/?)(read-files|modified-files)>", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*+•]\s+(?:\[[ xX~-]\]\s+)?|\d{1,3}[.)]\s+(?:\[[ xX]\]\s+)?)")


def parse(text: str) -> dict[str, str]:
    """The sections of a summary with their text, in the order of `SECTIONS`; those without text are left out."""
    found: dict[str, list[str]] = {}
    section = ""
    for line, is_code in _lines(text):
        named, rest = ("", line) if is_code else _heading(line)
        if named:
            section = named
            found.setdefault(section, []).extend([rest] if rest else [])
        elif section and rest.strip() == TURN:
            while found[section] and found[section][-1].strip() in ("", "---"):
                found[section].pop()
        elif section:
            found[section].append(rest)
    parsed = {name: _closed("\n".join(found[name]).strip()) for name in SECTIONS if name in found}
    return {name: body for name, body in parsed.items() if body and body.strip("-* .").lower() not in _EMPTY}


def is_summary(sections: Mapping[str, str]) -> bool:
    """Whether a text is a summary: at least two sections with text."""
    return len(sections) >= _LEAST_SECTIONS


def missing(sections: Mapping[str, str]) -> list[str]:
    """The headings that a summary lacks; the parts of Progress stand for it."""
    has_progress = any(part in sections for part in _SUBSECTIONS)
    return [name for name in MAIN if name not in sections and not (name == PROGRESS and has_progress)]


def render(sections: Mapping[str, str], *, whole: bool = True) -> str:
    """The sections under their headings, in order; with `whole` those without text too, as `(none)`."""
    blocks: list[str] = []
    for name in SECTIONS:
        body = sections.get(name, "")
        if name == PROGRESS and (body or whole or any(part in sections for part in _SUBSECTIONS)):
            blocks.append(f"## {name}\n{body}".rstrip())
        elif name != PROGRESS and (body or whole):
            blocks.append(f"{'###' if name in _SUBSECTIONS else '##'} {name}\n{body or NOTHING}")
    return "\n\n".join(blocks)


def files(read: Sequence[str], modified: Sequence[str]) -> str:
    """The lists of files, a path a line; empty where there are none."""
    blocks = []
    for tag, paths in (("read-files", read), ("modified-files", modified)):
        if paths:
            blocks.append("\n".join((f"<{tag}>", *(" ".join(path.split()) for path in paths), f"</{tag}>")))
    return "\n\n".join(blocks)


def body(summary: str) -> str:
    """The text of a summary without its lists of files."""
    return "\n".join(line for line, _ in _lines(summary)).strip()


def items(body: str) -> list[str]:
    """The lines of a section without their list markers; empty lines, rules and `(none)` left out."""
    found = []
    for line in body.splitlines():
        line = line.strip()
        marker = _BULLET.match(line)
        line = line[marker.end() :].strip() if marker else line
        if line.strip("-*_=` ") and line.lower() not in _EMPTY:
            found.append(line)
    return found


def defused(line: str) -> str:
    """A line in which no list of files can begin or end."""
    return _FILES.sub(r"‹\1\2›", line) if "<" in line else line


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines that count, each with whether it is code: without file lists, hidden thoughts and an outer fence."""
    text = text.replace("\r\n", "\n")
    while hidden := _HIDDEN.match(text):
        text = text[hidden.end() :]
    fence, is_list = "", False
    for line in _unfenced(text.split("\n")):
        stripped = line.strip().lower()
        now = _fence_behind(line, fence)
        if fence or now:
            fence = now
            yield defused(line), True
        elif tag := _FILES.match(stripped):
            is_list = not tag[1] and f"</{tag[2]}>" not in stripped
        elif stripped not in _TAGS and not (is_list and stripped and not stripped.startswith("#")):
            is_list = False
            yield defused(line), False


def _fence_behind(line: str, fence: str) -> str:
    """The fence that is open behind a line, where `fence` is open before it; "" where none is."""
    mark = _FENCE.match(line.strip())
    if mark and not fence:
        return mark[1]
    return "" if mark and mark[1].startswith(fence) and not mark[2] else fence


def _unfenced(lines: list[str]) -> list[str]:
    """The lines without a fence around the whole answer: the one that opens right before its first heading."""
    first = next((at for at, line in enumerate(lines) if _HEADING.match(line) or line.strip() == "<summary>"), 0)
    opening = next((at for at in range(first - 1, -1, -1) if lines[at].strip()), -1)
    mark = _FENCE.match(lines[opening].strip()) if opening >= 0 else None
    if mark is None or mark[2].lower() not in _WRAPPERS:
        return lines
    fences = [at for at in range(opening + 1, len(lines)) if _FENCE.match(lines[at].strip())]
    dropped = {opening, fences[-1]} if len(fences) % 2 else {opening}  # those within come in pairs
    return [line for at, line in enumerate(lines) if at not in dropped]


def _closed(body: str) -> str:
    """The text of a section with its last fence closed, so that it does not swallow the next section."""
    fence = ""
    for line in body.split("\n"):
        fence = _fence_behind(line, fence)
    return f"{body}\n{fence}" if fence else body


def _heading(line: str) -> tuple[str, str]:
    mark = _HEADING.match(line)
    if mark is None:
        return "", line
    words = line[mark.end() :].strip().rstrip("#").rstrip()
    head, _, rest = words.partition(":")
    known = re.sub(r"[^a-z&\s]", " ", head.lower()).replace("&", " and ").split()
    section = _ALIASES.get(" ".join(known), "")
    return (section, rest.strip(" *")) if section else ("", f"**{words.strip('*')}**")
