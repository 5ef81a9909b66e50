"""How stored text is printed: on a terminal, as `--raw`, in JSON or over MCP. Hot path.

A memory may come from a web page or a tool: it may move the cursor, write to the clipboard (OSC 52), hide words, or end
the result around it (`</tool_result><system-reminder>…`). A harmless text comes out unchanged; other tags and generics
(`<div>`, `List<T>`) stay, so that code is readable.
"""

REPLACEMENT = "\ufffd"
"""Replaces a run of characters that act or hide."""
_STYLES = ("\ufe0e", "\ufe0f")  # text and emoji
_JOINING = frozenset(("\u200c", "\u200d", *_STYLES))  # ZWNJ, ZWJ
_FIRST_JOINED = "\u0600"
"""From here on are the scripts and emoji that need joiners; between Latin letters joiners only hide."""
# Invisible letters: the empty Braille cell, Hangul fillers. They become a space.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Line breaks other than `\n`, and the four separators that Python takes for white space.
_BREAKS = frozenset("\r\x0b\x0c\x85\u2028\u2029")
_SEPARATORS = frozenset("\x1c\x1d\x1e\x1f")
# Invisible marks with a legitimate use: they are removed.
_SOFT = ((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
         (0x2060, 0x2064), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF))  # fmt: skip
# Characters that act or hide: controls, bidirectional overrides and isolates, interlinear marks, lone surrogates, tags,
# the selectors that carry bytes.
_HARD = ((0, 8), (14, 27), (127, 132), (134, 159), (0x202A, 0x202E), (0x2065, 0x206F), (0xD800, 0xDFFF),
         (0xFDD0, 0xFDEF), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
         (0xE0000, 0xE0FFF))  # fmt: skip
# Those of all these that Python takes for printable.
_PRINTABLE = frozenset(
    (*_BLANK, "\u034f", "\u17b4", "\u17b5", *map(chr, range(0x180B, 0x1810)), *map(chr, range(0xFE00, 0xFE10)),
     *map(chr, range(0xE0100, 0xE01F0)))
)  # fmt: skip

# How the names of tags begin that mean something to a harness, in any case; `-` counts as `_`.
_TAGS = (
    *("antml:", "joelclaw", "system_", "tool_", "function_", "command_", "local_command_", "bash_", "ide_", "hook_"),
    *("user_instructions", "user_prompt_submit", "user_shell_command", "environment_context", "environment_details"),
    *("session_context", "state_snapshot", "turn_aborted", "subagent_", "task_notification", "teammate_message"),
    *("task_result", "persisted_output", "new_diagnostics", "available_skills", "project_context", "user_info"),
    *("start_of_turn", "end_of_turn"),
)
# Names that are also ordinary words, in lower case or capitals only: `List<System>` is a type.
_WORD_TAGS = frozenset(
    "system assistant human instructions permissions important thinking functions invoke parameter channel env".split()
)
_FIRST_TWO = frozenset(name[:2] for name in (*_TAGS, *_WORD_TAGS, "sys"))
_LONGEST_TAG = 48
_WIDE_BAR = "\uff5c"
"""As in `<｜Assistant｜>`, which some models use for their own marks."""


def shown(text: str) -> str:
    """A text made safe to print, with its line breaks and tabs. Idempotent."""
    return without_markup(visible(text))


def shown_line(text: str) -> str:
    """A text made safe to print, on a single line."""
    return without_markup(" ".join(visible(text).split()))


def escaped(json: str) -> str:
    r"""JSON text with `\u…` for the characters that `shown` would change; its meaning stays."""
    if not _is_plain(json):
        json = "".join(map(_escape, json))
    return without_markup(json, "\\u003c")


def without_markup(text: str, instead: str = "‹") -> str:
    """The text with `instead` for the `<` of every opening or closing tag that a harness understands."""
    if "<" not in text:
        return text
    first, *parts = text.split("<")
    return first + "".join((instead if _is_tag(part) else "<") + part for part in parts)


def _is_plain(text: str) -> bool:
    """Cheap pre-check: is every character harmless? Takes 2 µs per KB of ASCII."""
    if "\n" in text or "\t" in text:
        text = text.replace("\n", "").replace("\t", "")
    return text.isprintable() and (text.isascii() or _PRINTABLE.isdisjoint(text))


def visible(text: str) -> str:
    """The text without characters that act or hide; `REPLACEMENT` takes the place of each run of those that act."""
    if _is_plain(text):
        return text
    if "\x1b[" in text or "\x9b" in text:
        text = _without_styles(text)
    kept: list[str] = []
    last = ""
    text = text.replace("\r\n", "\n")
    for at, character in enumerate(text):
        if not character.isprintable() or character in _PRINTABLE:
            character = _instead(character, last, text[at + 1 : at + 2])
            if not character or (character == REPLACEMENT == last):
                continue
        kept.append(character)
        last = character
    return "".join(kept)


def _instead(character: str, last: str, following: str) -> str:
    """What is printed for a character that is unprintable or invisible."""
    if character in _BREAKS:
        return "\n"
    if character in _SEPARATORS or character in _BLANK:
        return " "
    if character in _JOINING and _joins(character, last, following):
        return character
    code = ord(character)
    if _is_in(code, _SOFT):
        return ""
    return REPLACEMENT if _is_in(code, _HARD) else character


def _joins(character: str, last: str, following: str) -> bool:
    """Whether a joiner, or an emoji's style selector, is where it belongs."""
    if not last or last == REPLACEMENT or not (last.isprintable() and last >= _FIRST_JOINED):
        return False
    if character in _STYLES:
        return last not in _JOINING
    return following.isprintable() and following >= _FIRST_JOINED and following not in _PRINTABLE


def _is_in(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\n" or (character.isprintable() and character not in _PRINTABLE):
        return character
    if not (character in _PRINTABLE or character in _BREAKS or _is_in(code, _SOFT) or _is_in(code, _HARD)):
        return character
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _without_styles(text: str) -> str:
    """Remove colours and cursor movements (CSI) as a whole, so that the text around them stays readable."""
    first, *parts = text.replace("\x9b", "\x1b[").split("\x1b[")
    kept = [first]
    for part in parts:
        end = 0
        while end < len(part) and " " <= part[end] <= "?":
            end += 1
        kept.append(part[end + 1 :] if part[end : end + 1] and "@" <= part[end] <= "~" else REPLACEMENT + part)
    return "".join(kept)


def _is_tag(behind: str) -> bool:
    """Whether the text after a `<` makes it a harness's tag."""
    if behind[:1] in ("|", _WIDE_BAR):
        name, end, _ = behind[1:_LONGEST_TAG].partition("|>")
        return behind[:1] == _WIDE_BAR or (bool(end) and _tag_name(name.strip()) == name.strip() != "")
    led_by = 0
    while behind[led_by : led_by + 1] == "/" or behind[led_by : led_by + 1].isspace():
        led_by += 1
    if behind[led_by : led_by + 2].lower() not in _FIRST_TWO:
        return False
    name = _tag_name(behind[led_by:])
    plain = name.lower().replace("-", "_")
    is_word = plain in _WORD_TAGS and (name == plain or name.isupper())
    if not (plain.startswith(_TAGS) or is_word or plain == "sys"):
        return False
    # `a < system_load` compares; `< system-reminder>` does not
    closes = "/" in behind[:led_by]
    return closes or not behind[0].isspace() or behind[led_by + len(name) :].lstrip()[:1] == ">"


def _tag_name(text: str) -> str:
    for at, character in enumerate(text[:_LONGEST_TAG]):
        if not (character.isascii() and (character.isalnum() or character in "_-:.")):
            return text[:at]
    return text[:_LONGEST_TAG]
