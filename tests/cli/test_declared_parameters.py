"""Which values a parameter accepts and refuses, and which session a command uses."""

from __future__ import annotations

from typing import Any

import pytest

import clients
from cli.input import CLIENT_VARIABLES, required_session
from cli.parser import Parameter
from core.errors import Failure


def whole(**more: Any) -> Parameter:
    return Parameter("limit", flags=("--limit", "-n"), kind="whole", **more)


NUMBER = Parameter("x", flags=("--x",), kind="number")
TRUTH = Parameter("on", flags=("--on",), kind="truth")
CHOICE = Parameter("z", flags=("--z",), choices=("cold", "hot"))
TEXT = Parameter("text", flags=("--text",))


@pytest.mark.parametrize(
    ("parameter", "accepted", "refused", "expected"),
    [
        (
            whole(),
            {"0": 0, "+7": 7, "-7": -7, "9" * 18: 10**18 - 1},
            ["", "-", "1.0", "1_000", "٣", "9" * 19],
            "number",
        ),
        (whole(low=1, high=3), {"1": 1, "3": 3}, ["0", "4"], "a whole number from 1 to 3"),
        (whole(low=0), {"0": 0}, ["-1"], "a whole number of at least 0"),
        (NUMBER, {"-1.5": -1.5, "1e3": 1000.0}, ["", "nan", "inf", "1e999", "1_0", "x"], "a number"),
        (CHOICE, {"hot": "hot"}, ["warm"], "one of cold, hot"),
        (TRUTH, {"YES": True, "1": True, "Off": False}, ["maybe"], "true or false"),
        (TEXT, {"anything": "anything", "": ""}, [], ""),
    ],
)
def test_a_parameter_accepts_and_refuses(
    parameter: Parameter, accepted: dict[str, Any], refused: list[str], expected: str
) -> None:
    for text, value in accepted.items():
        assert parameter.convert(text, "CODE") == value
    for text in refused:
        with pytest.raises(Failure) as raised:
            parameter.convert(text, "CODE")
        assert (raised.value.code, raised.value.exit_code) == ("CODE", 2)
        assert raised.value.message.startswith(f"{parameter.flags[0]} is {text!r}, which is not")
        assert raised.value.message.endswith(expected) and raised.value.fix.endswith(expected)


def test_a_session_is_given_or_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PI_SESSION_HANDLE", "SLOG_SESSION_ID", "JOELCLAW_SESSION_ID")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Failure, match="no session was given"):
        required_session(" ", "CODE")
    for count, name in enumerate(names):
        monkeypatch.setenv(name, f" s{count} ")
        assert required_session(None, "CODE") == f"s{count}", "each goes before the one set above"
    assert required_session("given", "CODE") == "given"


def test_the_variables_of_all_clients_are_listed() -> None:
    assert set(CLIENT_VARIABLES) == {client.session_variable for client in clients.rows()} - {""}
