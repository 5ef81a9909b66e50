"""Markup that an agent's harness gives a meaning: ours, and the tags in which clients put results, reminders and calls.

`</tool_result><system-reminder>…` in an archived output ends nothing and reminds of nothing, once its `<` is none.
Other tags and generics (`<div>`, `List<T>`) stay: code is to be read. Hot path.
"""

from __future__ import annotations

# What the names of such tags begin with, in any case, `-` being `_`.
_BEGINNINGS = (
    *("antml:", "joelclaw", "system_", "tool_", "function_", "command_", "local_command_", "bash_", "ide_", "hook_"),
    *("user_instructions", "user_prompt_submit", "user_shell_command", "environment_context", "environment_details"),
    *("session_context", "state_snapshot", "turn_aborted", "subagent_", "task_notification", "teammate_message"),
    *("task_result", "persisted_output", "new_diagnostics", "available_skills", "project_context", "user_info"),
    *("start_of_turn", "end_of_turn"),
)
# Names that are also ordinary words, in lower case or capitals only: `List<System>` is a type.
_WORDS = frozenset(
    ("system", "assistant", "human", "instructions", "permissions", "important", "thinking", "functions", "invoke",
     "parameter", "channel", "env", "sys")
)  # fmt: skip
_ANY_CASE = frozenset(("sys",))
_FIRST_TWO = frozenset(name[:2] for name in (*_BEGINNINGS, *_WORDS))
_LONGEST = 48
_WIDE_BAR = "\uff5c"
"""In `<｜Assistant｜>`, as some models write their own marks."""


def without_markup(text: str, instead: str = "‹") -> str:
    """The text with `instead` for the `<` of every such tag, opened or closed."""
    if "<" not in text:
        return text
    first, *parts = text.split("<")
    return first + "".join((instead if _is_tag(part) else "<") + part for part in parts)


def _is_tag(behind: str) -> bool:
    """Whether what stands behind a `<` makes it a harness's tag."""
    if behind[:1] in ("|", _WIDE_BAR):
        name, end, _ = behind[1:_LONGEST].partition("|>")
        return behind[:1] == _WIDE_BAR or (bool(end) and _name(name.strip()) == name.strip() != "")
    inner = behind[_led_by(behind) :]
    if inner[:2].lower() not in _FIRST_TWO:
        return False
    name = _name(inner)
    plain = name.lower().replace("-", "_")
    is_word = plain in _WORDS and (name == plain or name.isupper())
    if not (plain.startswith(_BEGINNINGS) or is_word or plain in _ANY_CASE):
        return False
    closes = "/" in behind[: len(behind) - len(inner)]
    # `a < system_load` compares; `< system-reminder>` does not
    return closes or not behind[0].isspace() or inner[len(name) :].lstrip()[:1] == ">"


def _led_by(text: str) -> int:
    """How many characters of white space, of whatever kind, and slashes a text begins with."""
    at = 0
    while text[at : at + 1] == "/" or text[at : at + 1].isspace():
        at += 1
    return at


def _name(text: str) -> str:
    end = 0
    for character in text[:_LONGEST]:
        if not (character.isascii() and (character.isalnum() or character in "_-:.")):
            break
        end += 1
    return text[:end]
