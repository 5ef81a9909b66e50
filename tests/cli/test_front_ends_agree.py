"""The first front end and Typer: whatever the first accepts, the second reads alike.

Of every command, hot or not.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli import execution
from cli.app import parse_with_typer
from cli.main import take_json_flag
from cli.parameter import Command, Parameter
from cli.reference import every
from core.errors import USAGE, Failure

COMMANDS = every()
BY_PATH = {command.path: command for command in COMMANDS}
odd_words = st.sampled_from(
    [
        *("", "-", "--", "---", "-1", "-5.5", "--5", "-x", "-nx", "-n5", "-n=5", "--nope", "--nope=1", "--raw=", "="),
        *("--raw=true", "--=", "--limit", "--limit=", "–limit", "-é", "--é=x", "--json", "--json=1", "--help", "-h"),
        *("write", "recall", "a=b", "0", "5", " 5", "5 ", "+5", "1e3", "1_000", "٣", "nan", "inf", "0x10", "true"),
        *(
            "TRUE",
            "off",
            "a\nb",
            "\x00",
            "日本語",
            "🔴",
            "\ufffd",
            "{}",
            "[bold]x[/bold]",
            "%s",
            "'",
            '"',
            "$HOME",
            "~",
        ),
        *("*", "@file", "- a bullet", "-5 degrees", "-n 5"),
    ]
)
texts = st.one_of(odd_words, st.text(max_size=12), st.integers().map(str), st.floats().map(str))


def value_of(parameter: Parameter) -> st.SearchStrategy[str]:
    """Mostly values that the parameter takes, so that whole calls are accepted often enough to compare."""
    if parameter.choices:
        fitting: st.SearchStrategy[str] = st.sampled_from(parameter.choices)
    elif parameter.kind == "truth":
        fitting = st.sampled_from(["true", "false", "1", "0", "YES", "Off"])
    elif parameter.kind == "whole":
        low = int(parameter.low or 0)
        fitting = st.integers(low, int(parameter.high or low + 1000)).map(str)
    elif parameter.kind == "number":
        fitting = st.floats(parameter.low or 0, parameter.high or 1e6).map(repr)
    else:
        return texts
    return st.one_of(fitting, fitting, fitting, texts)


@st.composite
def pieces(draw: st.DrawFn, command: Command) -> list[str]:
    """One flag with or without its value, one positional word, or something odd."""
    kind = draw(st.sampled_from(["flag", "flag", "flag", "word", "odd"]))
    flagged = [parameter for parameter in command.parameters if parameter.flags]
    if kind == "odd":
        return [draw(odd_words)]
    if kind == "word" or not flagged:
        return [draw(texts)]
    parameter = draw(st.sampled_from(flagged))
    flag = draw(st.sampled_from(parameter.flags))
    if parameter.kind == "flag":
        return [flag]
    value = draw(value_of(parameter))
    style = draw(st.sampled_from(["apart", "apart", "joined", "glued", "missing"]))
    if style == "joined" and flag.startswith("--"):
        return [f"{flag}={value}"]
    if style == "glued" and not flag.startswith("--"):
        return [flag + value]
    return [flag] if style == "missing" else [flag, value]


@st.composite
def calls(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(COMMANDS))
    words = [word for piece in draw(st.lists(pieces(command), max_size=5)) for word in piece]
    for _ in range(draw(st.integers(0, 1))):
        words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(["--json", "--"])))
    return [*command.path.split(), *words]


def named(words: list[str]) -> Command:
    """The command that the first words name."""
    return BY_PATH.get(words[0]) or BY_PATH[" ".join(words[:2])]


def first(words: list[str]) -> tuple[str, dict[str, Any]] | None:
    command = named(words)
    options = execution.parse(command, words[len(command.path.split()) :])
    return None if options is None else (command.path, options)


def slow(words: list[str]) -> tuple[str, dict[str, Any]] | None:
    read = parse_with_typer(words)
    return None if read is None else (read[0].path, read[1])


def typed(read: tuple[str, dict[str, Any]] | None) -> object:
    """With the types told apart: 1, 1.0 and True are not the same answer."""
    return None if read is None else (read[0], {name: (type(value), value) for name, value in read[1].items()})


@given(calls())
@example(["recall", "--query"])
@example(["recall", "--session", "--help"])
@example(["recall", "--", "-h"])
@example(["recall", "--", "--json"])
@example(["recall", "-n", "-5"])
@example(["recall", ""])
@example(["recall", "", "-"])
@example(["recall", "why", "--limit", "3", "not"])
@example(["vault", "adr", "locate", "a", "b"])
@example(["checkpoint", "save", "--message", "--", "--message", "--file"])
@example(["otel", "emit", "--metadata", "--json"])
def test_what_the_hot_front_end_reads_typer_reads_alike(argv: list[str]) -> None:
    words, _ = take_json_flag(argv)
    read = first(words)
    if read is not None:
        assert typed(slow(words)) == typed(read)


@given(calls())
def test_what_typer_refuses_it_refuses_with_a_reason(argv: list[str]) -> None:
    words, _ = take_json_flag(argv)
    try:
        slow(words)
    except Failure as failure:
        assert first(words) is None
        assert failure.exit_code == USAGE
        assert failure.message
        assert failure.fix
        assert failure.code == named(words).code


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("recall --limit=3 -c ops why", {"query": "why", "limit": 3, "category": "ops"}),
        ("recall why --min-score 0.5 --raw", {"query": "why", "min_score": 0.5, "raw": True}),
        ("recall -- --raw", {"query": "--raw"}),
        ("recall --limit 2 --limit 4 x", {"query": "x", "limit": 4}),
        ("memory write -t a,b - -s me", {"text": "-", "tags": "a,b", "source": "me"}),
        (
            "otel emit a.b --success FALSE --duration-ms 1.5",
            {"action_word": "a.b", "success": False, "duration_ms": 1.5},
        ),
        ("checkpoint save -m one --message two --session s", {"message": ["one", "two"], "session": "s"}),
        ("checkpoint show s", {"id": "s"}),
        ("otel emit a.b --source codex --success", {"action_word": "a.b", "source": "codex", "success": True}),
        ("otel emit --success --level warn a", {"action_word": "a", "success": True, "level": "warn"}),
    ],
)
def test_both_read_ordinary_calls(words: str, options: dict[str, Any]) -> None:
    command = named(words.split())
    expected = (command.path, {**command.defaults(), **options})
    assert typed(first(words.split())) == typed(expected)
    assert typed(slow(words.split())) == typed(expected)


def test_calls_that_only_typer_knows_are_left_to_it() -> None:
    assert first(["recall", "x", "-n5"]) is None
    read = slow(["recall", "x", "-n5"])
    assert read is not None
    assert read[1]["limit"] == 5
