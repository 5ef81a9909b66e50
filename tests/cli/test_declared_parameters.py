"""What a declared parameter takes and refuses, to the letter, and how the help and the docs describe it."""

from __future__ import annotations

from typing import Any

import pytest

from cli import reference
from cli.parameter import Command, Parameter, session_of
from core.errors import Failure


def whole(**more: Any) -> Parameter:
    return Parameter("limit", ("--limit", "-n"), "most hits", "whole", **more)


def refusal(parameter: Parameter, text: str) -> str:
    with pytest.raises(Failure) as raised:
        parameter.convert(text, "CODE")
    assert (raised.value.code, raised.value.exit_code) == ("CODE", 2)
    name = parameter.flags[0] if parameter.flags else parameter.metavar
    message = raised.value.message
    assert raised.value.fix == f"give {name} {message.split('which is not ')[1]}"
    return message


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("+7", 7), ("-7", -7), ("007", 7), ("9" * 18, 10**18 - 1), ("-" + "9" * 18, 1 - 10**18)],
)
def test_whole_numbers(text: str, value: int) -> None:
    assert whole().convert(text, "CODE") == value


@pytest.mark.parametrize("text", ["", "-", "+-7", "1.0", "1e3", "1_000", "٣", "9" * 19, " 7"])
def test_what_is_no_whole_number(text: str) -> None:
    assert refusal(whole(), text) == f"--limit is {text!r}, which is not a whole number"


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("-1.5", -1.5), ("1e3", 1000.0), ("+.5", 0.5)])
def test_numbers(text: str, value: float) -> None:
    assert Parameter("x", kind="number").convert(text, "CODE") == value


@pytest.mark.parametrize("text", ["", "nan", "inf", "-inf", "1e999", "1_0", "٣", "x"])
def test_what_is_no_number(text: str) -> None:
    assert refusal(Parameter("x", kind="number"), text) == f"X is {text!r}, which is not a number"


@pytest.mark.parametrize(
    ("bounds", "right", "wrong", "wanted"),
    [
        ({"low": 1, "high": 3}, ("1", "3"), ("0", "4"), "a whole number from 1 to 3"),
        ({"low": 1}, ("1", "999"), ("0", "-5"), "a whole number of at least 1"),
        ({"low": 0}, ("0", "1"), ("-1",), "a whole number of at least 0"),
        ({"high": 3}, ("3", "-9"), ("4",), "a whole number"),
        ({"low": 0, "high": 0}, ("0",), ("1", "-1"), "a whole number from 0 to 0"),
    ],
)
def test_bounds_belong_to_the_range(
    bounds: dict[str, int], right: tuple[str, ...], wrong: tuple[str, ...], wanted: str
) -> None:
    for text in right:
        assert whole(**bounds).convert(text, "CODE") == int(text)
    for text in wrong:
        assert refusal(whole(**bounds), text) == f"--limit is {text!r}, which is not {wanted}"


def test_choices_truth_and_text() -> None:
    choice = Parameter("zone", ("--zone",), choices=("cold", "hot"))
    assert choice.convert("hot", "CODE") == "hot"
    assert refusal(choice, "warm") == "--zone is 'warm', which is not one of cold, hot"
    truth = Parameter("on", ("--on",), kind="truth")
    assert [truth.convert(word, "CODE") for word in ("true", "1", "YES", "On")] == [True] * 4
    assert [truth.convert(word, "CODE") for word in ("false", "0", "No", "OFF")] == [False] * 4
    assert refusal(truth, "maybe") == "--on is 'maybe', which is not true or false"
    assert Parameter("text").convert("anything", "CODE") == "anything"


def test_a_long_word_is_cut_at_60_characters() -> None:
    assert f"'{'x' * 60}'" in refusal(whole(), "x" * 60)
    assert f"'{'x' * 57}...'" in refusal(whole(), "x" * 61)


def test_the_options_of_a_call_without_words() -> None:
    parameters = (
        Parameter("names", many=True, required=True), Parameter("raw", ("--raw",), kind="flag"), whole(default=5),
        Parameter("on", ("--on",), kind="truth"),
    )  # fmt: skip
    assert Command("x", "m:f", "help", parameters).defaults() == {"names": [], "raw": False, "limit": 5, "on": None}


def test_the_session_that_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PI_SESSION_HANDLE", "SLOG_SESSION_ID", "JOELCLAW_SESSION_ID")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Failure, match="no session is named"):
        session_of(" ", "CODE")
    for number, name in enumerate(names):
        monkeypatch.setenv(name, f" s{number} ")
        assert session_of(None, "CODE") == f"s{number}", "each goes before the one set above"
    assert session_of("given", "CODE") == "given"


@pytest.mark.parametrize(
    ("parameter", "limits", "default", "explained", "values"),
    [
        (
            whole(low=1, high=100, default=5),
            "1 to 100", "5", "most hits [1 to 100, default 5]", "whole number, 1 to 100",
        ),
        (whole(low=0), "at least 0", "", "most hits [at least 0]", "whole number, at least 0"),
        (whole(default=0), "", "0", "most hits [default 0]", "whole number"),
        (
            Parameter("x", ("--x",), "from 0 to 1", "number", low=0, high=1),
            "0 to 1", "", "from 0 to 1", "number, 0 to 1",
        ),
        (
            Parameter("x", ("--x",), "at most 9", "number", 3, low=0, high=876_000),
            "0 to 876,000", "3", "at most 9 [default 3]", "number, 0 to 876,000",
        ),
        (Parameter("x", ("--x",), "a flag", "flag", default=False), "", "", "a flag", "`true` or `false`"),
        (Parameter("x", ("--x",), "text", default=""), "", "", "text", "text"),
        (Parameter("x", ("--x",), "text", default="a", many=True), "", "a", "text [default a]", "text, repeatable"),
        (Parameter("x", (), "text", many=True), "", "", "text", "text"),
        (Parameter("x", ("--x",), "file", file=True), "", "", "file", "file"),
        (Parameter("x", ("--x",), "truth", "truth"), "", "", "truth", "`true` or `false`"),
        (Parameter("x", ("--x",), "one", choices=("a", "b")), "", "", "one", "`a`, `b`"),
        (
            Parameter("x", ("--x",), "n", "whole", low=1, high=2, many=True),
            "1 to 2", "", "n [1 to 2]", "whole number, 1 to 2, repeatable",
        ),
    ],
)  # fmt: skip
def test_how_a_parameter_is_described(
    parameter: Parameter, limits: str, default: str, explained: str, values: str
) -> None:
    assert reference.limits(parameter) == limits
    assert reference.default(parameter) == default
    assert reference.explained(parameter) == explained
    assert reference._values(parameter) == values


def test_what_stands_for_a_value() -> None:
    assert reference.placeholder(Parameter("x", choices=("a", "b"))) == "a|b"
    assert reference.placeholder(Parameter("x", kind="truth")) == "true|false"
    assert reference.placeholder(Parameter("x", metavar="ID")) == "ID"
    assert reference.placeholder(Parameter("name")) == "NAME"


def test_the_usage_of_a_command() -> None:
    ids = Parameter("ids", (), "which", many=True, required=True, metavar="ID")
    loose = Parameter("place", (), "where")
    command = Command("memory forget", "m:f", "Forget <it> | more", (ids, loose, whole(default=5)))
    assert reference.usage_line(command) == "joelclaw memory forget ID... [PLACE] [options]"
    assert reference.usage_line(Command("status", "m:f", "help")) == "joelclaw status"
    assert reference._section(command) == (
        "### joelclaw memory forget\n\nForget &lt;it> \\| more\n\n```\njoelclaw memory forget ID... [PLACE] [options]\n"
        "```\n\n| parameter | what | values | default |\n|---|---|---|---|\n"
        "| `ID` (required) | which | text |  |\n| `PLACE` | where | text |  |\n"
        "| `--limit`, `-n` | most hits | whole number | `5` |\n"
    )
    assert reference._section(Command("status", "m:f", "Help")) == (
        "## joelclaw status\n\nHelp\n\n```\njoelclaw status\n```\n"
    )
    flag = Parameter("raw", ("--raw",), "text alone", "flag")
    assert reference._row(flag) == "| `--raw` | text alone |  |  |"


def test_a_parameter_as_json() -> None:
    assert reference._as_json(whole(default=5)) == {
        "description": "most hits", "required": False, "short": "-n", "default": 5,
    }  # fmt: skip
    assert reference._as_json(Parameter("x", (), "one", required=True, choices=("a", "b"))) == {
        "description": "one", "required": True, "enum": ["a", "b"],
    }  # fmt: skip
    for without in (Parameter("x", ("--x",), "", "flag", False), Parameter("x", ("--x",), "", default="")):
        assert reference._as_json(without) == {"description": "", "required": False}
    assert reference._as_json(Parameter("x", ("--x",), "", "whole", 0))["default"] == 0


def test_every_command_is_described() -> None:
    tree = reference.tree()
    [forget] = [one for one in tree["commands"] if one["command"] == "joelclaw memory forget"]
    assert forget["usage"].startswith("joelclaw memory forget [ID...]")
    assert "ID" in forget["params"] and "--undo" in forget["params"] and "memory" in tree["groups"]
    page = reference.markdown()
    for group in tree["groups"]:
        assert page.count(f"\n## {group}\n") + page.startswith(f"## {group}\n") == 1
    for command in tree["commands"]:
        level = "###" if command["command"].count(" ") > 1 else "##"
        assert f"{level} {command['command']}\n" in page
