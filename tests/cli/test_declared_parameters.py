"""What a declared parameter takes and refuses, to the letter, and how the usage line describes a command."""

from __future__ import annotations

from typing import Any

import pytest

import clients
from cli.parameter import OF_CLIENTS, Parameter, session_of
from core.errors import Failure


def whole(**more: Any) -> Parameter:
    return Parameter("limit", ("--limit", "-n"), "most hits", "whole", **more)


def number(**more: Any) -> Parameter:
    return Parameter("x", ("--x",), "", "number", **more)


TRUTH = Parameter("on", ("--on",), kind="truth")


@pytest.mark.parametrize(
    ("parameter", "right", "wrong", "wanted"),
    [
        (
            whole(),
            {"0": 0, "+7": 7, "-7": -7, "9" * 18: 10**18 - 1},
            ["", "-", "1.0", "1_000", "٣", "9" * 19],
            "number",
        ),
        (whole(low=1, high=3), {"1": 1, "3": 3}, ["0", "4"], "a whole number from 1 to 3"),
        (whole(low=0), {"0": 0}, ["-1"], "a whole number of at least 0"),
        (number(), {"-1.5": -1.5, "1e3": 1000.0}, ["", "nan", "inf", "1e999", "1_0", "x"], "a number"),
        (Parameter("z", ("--z",), choices=("cold", "hot")), {"hot": "hot"}, ["warm"], "one of cold, hot"),
        (TRUTH, {"YES": True, "1": True, "Off": False}, ["maybe"], "true or false"),
        (Parameter("text", ("--text",)), {"anything": "anything", "": ""}, [], ""),
    ],
)
def test_what_a_parameter_takes(parameter: Parameter, right: dict[str, Any], wrong: list[str], wanted: str) -> None:
    for text, value in right.items():
        assert parameter.convert(text, "CODE") == value
    for text in wrong:
        with pytest.raises(Failure) as raised:
            parameter.convert(text, "CODE")
        assert (raised.value.code, raised.value.exit_code) == ("CODE", 2)
        assert raised.value.message.startswith(f"{parameter.flags[0]} is {text!r}, which is not")
        assert raised.value.message.endswith(wanted) and raised.value.fix.endswith(wanted)


def test_the_session_that_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PI_SESSION_HANDLE", "SLOG_SESSION_ID", "JOELCLAW_SESSION_ID")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Failure, match="no session was given"):
        session_of(" ", "CODE")
    for count, name in enumerate(names):
        monkeypatch.setenv(name, f" s{count} ")
        assert session_of(None, "CODE") == f"s{count}", "each goes before the one set above"
    assert session_of("given", "CODE") == "given"


def test_the_variables_of_clients_are_theirs() -> None:
    assert set(OF_CLIENTS) == {client.session_variable for client in clients.rows()} - {""}
