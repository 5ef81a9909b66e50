"""How the words of a call are read: whatever they are, as the options of a command, or refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Run
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli import complaints, execution
from cli.parameter import Command
from cli.reference import every
from core.errors import USAGE, Failure

COMMANDS = {command.path: command for command in every()}
ODD = (
    *("", "-", "--", "---", "-1", "--5", "-x", "-nx", "-n5", "-n=5", "--nope", "--nope=1", "--raw=", "=", "--raw=true"),
    *("--=", "--limit", "--limit=", "-é", "--help", "-h", "a=b", "5", " 5", "1e3", "1_000", "٣", "nan", "inf", "0x10"),
    *("\x00", "日本語", "\ufffd", "{}", "[bold]x[/bold]", "%s", "'", "- a bullet", "-5 degrees", "-n 5"),
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Command, list[str]]:
    command = draw(st.sampled_from(list(COMMANDS.values())))
    flags = [flag for parameter in command.parameters for flag in parameter.flags]
    word = st.one_of(st.sampled_from((*ODD, *flags)), st.text(max_size=12), st.integers().map(str))
    return command, draw(st.lists(word, max_size=6))


@settings(max_examples=200, deadline=None)
@given(calls())
@example((COMMANDS["recall"], ["--session", "--help"]))
@example((COMMANDS["recall"], ["-n", "-5"]))
def test_any_words_are_read_or_refused_with_a_reason(call: tuple[Command, list[str]]) -> None:
    command, words = call
    try:
        read = execution.parse(command, words)
    except (execution.Misused, Failure) as wrong:
        failure = complaints.misuse([*command.path.split(), *words], wrong)
        assert (failure.exit_code, failure.code) == (USAGE, command.code)
        assert failure.message and failure.fix
    else:
        assert set(read) == set(command.defaults())


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("recall --limit=3 -c ops why", {"query": "why", "limit": 3, "category": "ops"}),
        ("recall why --min-score 0.5 --raw", {"query": "why", "min_score": 0.5, "raw": True}),
        ("recall -- --raw", {"query": "--raw"}),
        ("recall --limit 2 --limit 4 x", {"query": "x", "limit": 4}),
        ("recall x -n5", {"query": "x", "limit": 5}),
        ("memory write -t a,b - -s me", {"text": "-", "tags": "a,b", "source": "me"}),
        (
            "otel emit a.b --success FALSE --duration-ms 1.5",
            {"action_word": "a.b", "success": False, "duration_ms": 1.5},
        ),
        ("checkpoint save -m one --message two --session s", {"message": ["one", "two"], "session": "s"}),
        ("otel emit a.b --source codex --success", {"action_word": "a.b", "source": "codex", "success": True}),
        ("otel emit --success --level warn a", {"action_word": "a", "success": True, "level": "warn"}),
    ],
)
def test_ordinary_calls(words: str, options: dict[str, Any]) -> None:
    split = words.split()
    command = COMMANDS.get(split[0]) or COMMANDS[" ".join(split[:2])]
    read = execution.parse(command, split[len(command.path.split()) :])
    wanted = {**command.defaults(), **options}
    assert {name: (type(one), one) for name, one in read.items()} == {n: (type(one), one) for n, one in wanted.items()}


def test_help_may_be_the_value_of_a_flag(run: Run) -> None:
    assert run("recall", "x", "--session", "--help").result["hits"] == []
