"""A client with broken hooks behaves as it does without hooks."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from .normal_form import configuration, requests, transcript
from .session import FAULTS, Case, Session


def broken(client: str) -> list[Case]:
    """A short session with each fault; only an extension reads what a broken joelclaw prints."""
    faults = [fault for fault in FAULTS if fault != "garbage" or client in ("pi", "openclaw", "opencode")]
    return [Case(client, "one-edit", fault=fault) for fault in faults]


@pytest.mark.cases(of=broken)
def test_ends_the_same_way(session: Session, undisturbed: Session) -> None:
    expected, outcome = undisturbed.outcome, session.outcome
    assert (any(expected.exit_codes), expected.compactions, expected.timed_out) == (False, 1, False)
    assert (outcome.exit_codes, outcome.compactions, outcome.timed_out) == (expected.exit_codes, 1, False)
    assert len(outcome.requests) == len(expected.requests)


@pytest.mark.parametrize("part", [transcript, requests])
@pytest.mark.cases(of=broken)
def test_transcript_and_requests_are_the_same(
    session: Session, undisturbed: Session, part: Callable[[Session], list[Any]]
) -> None:
    assert part(undisturbed)
    assert part(session) == part(undisturbed)


@pytest.mark.cases(of=broken)
def test_configuration_is_the_same(session: Session, undisturbed: Session) -> None:
    assert configuration(session) == configuration(undisturbed)
    assert session.installed
    for name, before in session.installed.items():
        after = (session.place.home / name).read_bytes()
        if after != before:  # the client added its own settings to this file
            ours = [(settings.get("hooks"), settings.get("plugins")) for settings in map(json.loads, (before, after))]
            assert ours[0] == ours[1], name
