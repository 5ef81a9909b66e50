"""What of a session's work is told first: names and commands by their fading use and their shortness. Hot path."""

from __future__ import annotations

from math import exp

from core.store.sessions.name_rows import FADING_CALLS, faded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from core.records import Call, Name

FADED = 0.01  # a name that weighs less is told by no card
MOST_CHARS, COMMAND_CHARS, COMMANDS_CHARS = 3900, 200, 1300
"""Of an answer, of a command, of all of them."""
_TOLD = 0.25  # what the client's own summary has is told last
_LEFT_OUT = "[redacted:"


def deal(names: Iterable[Name], weights: Mapping[str, float], room: int) -> list[Name]:
    """As many names as fit into so many characters, by weight and shortness."""
    dealt: list[Name] = []
    for name in sorted(names, key=lambda one: -weights[one["name"]] / (len(one["name"]) + 1) ** 0.5):
        if len(name["name"]) + 1 <= room:
            room -= len(name["name"]) + 1
            dealt.append(name)
    return dealt


def weights_of(names: Iterable[Name], total: int, told: Container[str]) -> dict[str, float]:
    """The faded weights of the names that are still at work; what is told already weighs a quarter."""
    weights = {one["name"]: faded(one, total) * (_TOLD if one["name"] in told else 1.0) for one in names}
    return {name: weight for name, weight in weights.items() if weight > FADED}


def ranked_commands(calls: Sequence[Call], longest: int) -> list[Call]:
    """The commands of a line each that do something, each once with its last outcome, by fading use and shortness."""
    weights: dict[str, float] = {}
    last: dict[str, Call] = {}
    total = calls[-1]["number"] if calls else 0
    for call in calls:
        command = call["command"]
        if command and len(command) <= longest and "\n" not in command and _LEFT_OUT not in command:
            weights[command] = weights.get(command, 0.0) + exp((call["number"] - total) / FADING_CALLS)
            last[command] = call
    from core import shell_command

    done = [
        one for one in weights if any(step["verb"] or shell_command.does(step) for step in shell_command.steps(one))
    ]
    return [last[one] for one in sorted(done, key=lambda one: -weights[one] / len(one) ** 0.5)]
