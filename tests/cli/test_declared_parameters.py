"""Which values a parameter accepts and refuses, and which session a command uses."""

from __future__ import annotations

import pytest

import clients
from cli.input import CLIENT_VARIABLES, required_session
from core.errors import Failure


def test_a_session_is_given_or_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PI_SESSION_HANDLE", "SLOG_SESSION_ID", "JOELCLAW_SESSION_ID")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Failure, match="no session was given"):
        required_session(" ")
    for count, name in enumerate(names):
        monkeypatch.setenv(name, f" s{count} ")
        assert required_session(None) == f"s{count}", "each goes before the one set above"
    assert required_session("given") == "given"


def test_the_variables_of_all_clients_are_listed() -> None:
    assert set(CLIENT_VARIABLES) == {client.session_variable for client in clients.rows()} - {""}
