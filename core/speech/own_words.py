"""What a person wrote of a prompt himself: without quotations, logs, traces, diffs, code and blocks that he pasted.

What is pasted is somebody else's word: an issue that says "always" is no order of the user. Hot path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FENCES = ("```", "~~~", "'''", '"""')
_PAIRS = {'"': '"', "“": "”", "„": "“”", "«": "»", "‹": "›", "「": "」", "『": "』"}
_LEAST_QUOTED = 4
_ENDS = ":.!?;—–-：。"
"""Words that a quotation has at least; a shorter one is a name or a label."""
_MOST_LINES = 40
"""Of a quotation."""
_LEVELS = frozenset("TRACE DEBUG INFO NOTICE WARN WARNING ERROR FATAL CRITICAL PASSED FAILED SEVERE".split())
_MONTHS = frozenset("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())
_PROGRAMS = (
    "Traceback (most recent call last)", "Exception in thread ", "Caused by: ", "npm ERR!", "npm error ", "npm WARN",
    "diff --git ", "--- a/", "+++ b/", "--- /dev/", "+++ /dev/", "-rw", "drwx", "-rwx", "lrwx", "level=", "time=",
    "E   ", "thread '", "panic: ", "goroutine ", "=====", "-----", "#####", '{"', "[{", '[["', "✓ ", "✔ ", "✗ ", "✘ ",
    "❯ ", "➜ ", "$ ", "PS C:\\", "</", "Author: ", "Date:   ", "* commit ", "| ", "|-",
    "create mode ", "=== ", "--- FAIL", "--- PASS", "@@ ", "error[", "--> ",
    "⏺ ", "⎿ ", "│", "╭", "╰", "#!/",
)  # fmt: skip
_PROMPTS = ("$ ", "❯ ", "➜ ", "PS C:\\")
"""What is printed below one, to the next blank line, is its answer."""
_BRACKETS = frozenset("{ } [ ] }, ], ( ) ); }; }) }); ),".split())
# At the end of a line they say that what follows is another's: "the ticket says:", "review comment from Kim:".
_OF_OTHERS = frozenset(
    "ticket jira reviewer reviewers review says said wrote writes commented comment comments email copilot bugbot"
    " coderabbit readme description criteria reproduce".split()
)
_OPENING_A_TICKET = ("Description: ", "Acceptance criteria: ", "Steps to reproduce: ", "Reporter: ", "Assignee: ")
# Such a line is no more than a label, and belongs to what it announces, where it begins or ends so.
_FIRST_OF_LABEL = frozenset("the jira ticket review reviewer comment comments email copilot bugbot coderabbit".split())
_SAYING = frozenset("says said wrote writes commented".split())
_LABEL_WORDS, _LONGEST_LABEL = 5, 60
_OF_HIMSELF = frozenset("i i've my we our you your me us".split())
_OWNED = frozenset(("my", "our"))
_LEAD_WORDS = 6
_INDENT = 4
_OWN, _BLANK, _INDENTED, _CODE, _PASTED, _PRINTED = range(6)
_LEAST_CODE = 2
"""Lines like code that make a run of such and indented ones pasted."""


def of(text: str) -> str:
    """The lines of a text that its writer wrote himself, a blank one where others stood; all of it where none did."""
    if "\n" not in text and not text.lstrip()[:3].startswith((*_FENCES, ">", "<")) and not _is_printed(text.strip()):
        return text
    lines = text.split("\n")
    kinds = _kinds(lines)
    if max(kinds) < _PASTED:
        return text
    kept: list[str] = []
    for line, kind in zip(lines, kinds, strict=True):
        if kind >= _PASTED:
            line = ""
        if line.strip() or (kept and kept[-1]):
            kept.append(line if line.strip() else "")
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join(kept)


def said(text: str) -> str:
    """The same without quotations that are a sentence of their own within a line: what its writer says himself."""
    return "\n".join(unquoted(line, whole=True) for line in of(text).split("\n"))


def _kinds(lines: list[str]) -> list[int]:
    """What each line is."""
    kinds = [_OWN] * len(lines)
    closers: dict[str, list[int]] = {}
    for number in range(len(lines) - 1, -1, -1):
        if "</" in lines[number]:
            closers.setdefault(_tag(lines[number].partition("</")[2]), []).append(number)
    is_alone = sum(map(bool, map(str.strip, lines[:200]))) == 1 and len(lines) <= 200
    ends = 0
    in_hunk = in_output = is_others = False
    for number, line in enumerate(lines):
        bare = line.strip()
        if number < ends:
            kinds[number] = _PASTED
            continue
        if not bare:
            kinds[number] = _BLANK
            in_output = False
            in_hunk = in_hunk and _goes_on_in_hunk("".join(lines[number + 1 : number + 2]))
            is_others = is_others and kinds[number - 1] == _PASTED and _is_label(lines[number - 1].strip())
            continue
        ends = _block_end(lines, number, bare, closers, is_alone)
        if ends > number or in_output or (in_hunk and line[0] in "+- \\"):
            kinds[number] = _PASTED
            continue
        is_label = _is_label(bare)
        is_others = is_others or is_label or (number > 0 and _is_of_others(lines[number - 1].strip()))
        goes_on = number > 0 and kinds[number - 1] == _PRINTED and line[0].isspace()
        kinds[number] = _PRINTED if goes_on else _PASTED if is_others else _kind(line, bare)
        in_hunk = bare.startswith("@@ ")
        in_output = bare.startswith(_PROMPTS)
    _join(kinds)
    _leave_out_indented(lines, kinds)
    return kinds


def _kind(line: str, bare: str) -> int:
    """What a line is that stands in no block."""
    if _is_printed(bare):
        return _PRINTED
    if _is_markup(bare) or (bare[0] == ">" and bare[1:2] != "="):
        return _PASTED
    if _is_code(bare):
        return _CODE
    return _INDENTED if line[:2].isspace() and _without_marker(bare) == bare else _OWN


def _block_end(lines: list[str], start: int, bare: str, closers: dict[str, list[int]], is_alone: bool) -> int:
    """Behind the last line of a fenced block, a block of markup or a quotation that begins here; 0 where none does."""
    if bare.startswith(_FENCES):
        return _fence_end(lines, start, bare)
    if bare[0] == "<" and bare[1:2].isalpha():
        ending = closers.get(_tag(bare[1:]), [])
        while ending and ending[-1] < start:
            ending.pop()
        return ending[-1] + 1 if ending else 0
    quoted = _without_marker(bare)
    if quoted[:1] and quoted[0] in _PAIRS and not is_alone:
        return _quotation_end(lines, start, quoted)
    return 0


def _fence_end(lines: list[str], start: int, bare: str) -> int:
    mark = bare[:3]
    inside = bare.lstrip(mark[0])
    if mark in inside:  # opened and closed in one line
        return start + 1 if inside.endswith(mark) else 0
    depth = 1
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(mark) and line.lstrip(mark[0]).isalnum():
            depth += 1
        elif line.startswith(mark) or line.endswith(mark):
            depth -= 1
            if not depth:
                return number + 1
    return len(lines)


def _quotation_end(lines: list[str], start: int, quoted: str) -> int:
    """Of one that is a whole line, or lines of one paragraph."""
    closing = _PAIRS[quoted[0]]
    words = 0
    for number in range(start, min(len(lines), start + _MOST_LINES)):
        line = quoted[1:] if number == start else lines[number].strip()
        if not line:
            return 0
        words += _count(line)
        places = [line.find(mark) for mark in closing if mark in line]
        if places:
            rest = line[min(places) + 1 :].strip(" .,;:!?)]")
            is_named = rest.startswith(("—", "–", "--", "- ", "("))  # by whom it is
            return number + 1 if (not rest or is_named) and words >= _LEAST_QUOTED else 0
    return 0


def _join(kinds: list[int]) -> None:
    """Lines that could be either are pasted beside one that is, as code where several follow each other, and between
    lines that a program printed.
    """
    start = 0
    while start < len(kinds):
        end = start
        while end < len(kinds) and kinds[end] in (_INDENTED, _CODE):
            end += 1
        if end > start:
            beside = max(kinds[max(0, start - 1) : end + 1]) >= _PASTED
            kind = _PASTED if beside or kinds[start:end].count(_CODE) >= _LEAST_CODE else _OWN
            kinds[start:end] = [kind] * (end - start)
        start = end + 1
    printed = -1  # the last line of a program in this paragraph
    for number, kind in enumerate(kinds):
        if kind == _PRINTED:
            if printed >= 0:
                kinds[printed + 1 : number] = [_PASTED] * (number - printed - 1)
            printed = number
        elif kind == _BLANK:
            printed = -1


def _leave_out_indented(lines: list[str], kinds: list[int]) -> None:
    """An indented block behind a colon is pasted, unless it is a list."""
    before = ""  # the last line of his own
    for number, line in enumerate(lines):
        if kinds[number] == _OWN:
            bare = line.strip()
            is_deep = line.startswith("\t") or (len(line) > _INDENT and line[:_INDENT].isspace())
            is_behind = before.endswith((":", "：")) and _OWNED.isdisjoint(before[:60].lower().split())
            if is_deep and is_behind and _without_marker(bare) == bare:
                kinds[number] = _PASTED
            else:
                before = bare


def _is_printed(bare: str) -> bool:
    """Whether a program printed such a line: a log's, a trace's, a diff's, a shell's, JSON."""
    if bare.startswith(_PROGRAMS) or bare in _BRACKETS:
        return True
    if bare.startswith(_OPENING_A_TICKET) or " - - [" in bare[:60]:
        return True
    if bare.startswith('File "') and ", line " in bare:
        return True
    if bare.startswith("at ") and (bare.endswith(")") or ":" in bare.rpartition("/")[2]) and bare.count(" ") < 4:
        return any(map(str.isdigit, bare[-12:])) or bare.endswith(("(Native Method)", "(Unknown Source)"))
    if bare[0:1] == '"' and '":' in bare[:80]:
        return True
    head = bare.lstrip("[(").split(maxsplit=2)[:2] if bare else []
    if not head:
        return False
    first = head[0].rstrip("])|,:")
    if first in _LEVELS and (bare[0] == "[" or head[0] != first or _is_all_upper_then_lower(bare)):
        return True
    if _is_time(first) or (_is_date(first[:10]) and (first[10:11] in ("T", "_") or _is_clock(head[-1]))):
        return True
    if first in _MONTHS and _has_clock(bare[:24]):
        return True
    if first[:1] in "IWEF" and first[1:].isdigit() and len(first) == 5 and _is_clock(head[-1]):
        return True
    return _is_prompt(first) or _is_of_container(bare)


def _is_all_upper_then_lower(bare: str) -> bool:
    """Whether what follows a level is no sentence about it: `INFO worker-0 …`, not "ERROR is what it says"."""
    following = bare.split(maxsplit=2)[1:2]
    return bool(following) and not following[0].isalpha()


def _is_prompt(first: str) -> bool:
    return "@" in first and first[-1:] in "$%#" and ":" in first


def _is_of_container(bare: str) -> bool:
    """`worker-1  | …`, as docker prints it."""
    name, bar, _ = bare[:60].partition(" | ")
    name = name.strip()
    return bool(bar) and " " not in name and name[-2:-1] in "-_" and name[-1:].isdigit()


def _is_date(text: str) -> bool:
    return len(text) == 10 and text[:4].isdigit() and text[4] in "-/" and text[5:7].isdigit() and text[8:].isdigit()


def _is_clock(text: str) -> bool:
    return text[:2].isdigit() and text[2:3] == ":" and text[3:5].isdigit()


def _is_time(text: str) -> bool:
    """With seconds: "10:30 we meet" is a person's."""
    return _is_clock(text) and text[5:6] == ":" and text[6:8].isdigit()


def _has_clock(text: str) -> bool:
    return any(map(_is_time, text.split()))


def _is_markup(bare: str) -> bool:
    return bare[0] == "<" and bare[-1] == ">" and (bare[1:2].isalpha() or bare[1:2] == "!")


def _is_of_others(lead: str) -> bool:
    """Whether a line says that the paragraph behind it is another's."""
    if not lead.endswith((":", "：")):
        return False
    words = lead[:-1].lower().replace("’", "'").split()[-_LEAD_WORDS:]
    return not _OF_OTHERS.isdisjoint(words) and _OF_HIMSELF.isdisjoint(words)


def _goes_on_in_hunk(line: str) -> bool:
    """Whether a line behind an empty one is a diff's, and no list's."""
    return line[:1] in ("+", "-") and (line[1:2] != " " or line[2:3] == " ")


def _is_label(lead: str) -> bool:
    """Whether a line says so and nothing else: "JIRA ticket:", "Kim wrote:"."""
    words = lead[:-1].lower().split() if len(lead) < _LONGEST_LABEL and _is_of_others(lead) else []
    return 0 < len(words) <= _LABEL_WORDS and (words[0] in _FIRST_OF_LABEL or words[-1] in _SAYING)


def _is_code(bare: str) -> bool:
    """Whether it may be a line of code or the last of a trace."""
    head, colon, _ = bare.partition(":")
    if colon and head.endswith(("Error", "Exception", "Warning")) and " " not in head:
        return True
    return bare.endswith(("{", "};", ");", "},", "(", "*/"))


def _without_marker(bare: str) -> str:
    """A line without the mark of a list."""
    if bare[:2] in ("- ", "* ", "• ", "+ "):
        return bare[2:].lstrip()
    number, point, _ = bare[:6].partition(". ")
    return bare[len(number) + 2 :].lstrip() if point and number.isdigit() else bare


def _tag(text: str) -> str:
    end = 0
    while end < len(text) and end < 60 and (text[end].isalnum() or text[end] in "-_:."):
        end += 1
    return text[:end]


def _count(text: str) -> int:
    """Words; of a script without spaces two characters are one."""
    return sum(1 if word.isascii() else max(1, sum(map("\u2e80".__le__, word)) // 2) for word in text.split())


def unquoted(line: str, *, whole: bool = False) -> str:
    """A line without its quotations of some words; `whole`: those alone that are no part of a sentence."""
    parts: list[str] = []
    start = 0
    next_of: dict[str, int] = {}

    def first(marks: str | Iterable[str], begin: int) -> int:
        """Where the first of the marks stands, -1 where none does; each part of the line is searched once a mark."""
        for mark in marks:
            if mark not in next_of or -1 < next_of[mark] < begin:
                next_of[mark] = line.find(mark, begin)
        return min((next_of[mark] for mark in marks if next_of[mark] >= 0), default=-1)

    while (opened := first(_PAIRS, start)) >= 0:
        closed = first(_PAIRS[line[opened]], opened + 1)
        if closed < 0:
            parts.append(line[start : opened + 1])
            start = opened + 1
            continue
        stays = _count(line[opened + 1 : closed]) < _LEAST_QUOTED
        if whole and not stays:
            stays = bool(line[start:opened].strip()) and line[start:opened].rstrip()[-1] not in _ENDS
        parts.append(line[start : closed + 1] if stays else line[start:opened])
        start = closed + 1
    return "".join(parts) + line[start:]
