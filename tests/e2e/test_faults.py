"""A client with hooks of ours that do not work ends, writes and is configured as one without hooks."""

from __future__ import annotations

import json

import pytest

from .normal_form import configuration, requests, transcript
from .session import FAULTS, Case, Session


def broken(client: str) -> list[Case]:
    """A short session with each fault; only an extension looks at what a broken joelclaw prints."""
    faults = [fault for fault in FAULTS if fault != "garbage" or client in ("pi", "opencode")]
    return [Case(client, "one-edit", fault=fault) for fault in faults]


@pytest.mark.cases(of=broken)
def test_ends_the_same_way(session: Session, undisturbed: Session) -> None:
    assert (undisturbed.code, undisturbed.summary["compactions"]) == (0, 1), undisturbed.told
    assert session.code == 0, session.told
    for what in ("exit_codes", "compactions", "requests", "timed_out"):
        assert session.summary[what] == undisturbed.summary[what], what


@pytest.mark.cases(of=broken)
def test_transcript_is_the_same(session: Session, undisturbed: Session) -> None:
    assert transcript(undisturbed)
    assert transcript(session) == transcript(undisturbed)


@pytest.mark.cases(of=broken)
def test_model_receives_the_same(session: Session, undisturbed: Session) -> None:
    assert requests(undisturbed)
    assert requests(session) == requests(undisturbed)


@pytest.mark.cases(of=broken)
def test_configuration_is_the_same(session: Session, undisturbed: Session) -> None:
    assert configuration(session) == configuration(undisturbed)
    assert session.installed
    for name, before in session.installed.items():
        after = (session.folder / "home" / name).read_bytes()
        if after != before:  # the client added settings of its own to the file that our hooks stand in
            assert json.loads(after)["hooks"] == json.loads(before)["hooks"], name
