"""Ids: made in the order of time, shown short where they are UUIDs, and as file names that differ as they do."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from conftest import NOW_MS

from core import files, ids

UUID = "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"


def test_a_new_id_is_a_uuid_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    for random in (bytes(10), b"\xff" * 10, bytes(range(10))):
        monkeypatch.setattr("os.urandom", lambda count, random=random: random[:count])
        made = uuid.UUID(ids.uuid7())
        assert (str(made), made.version, made.variant) == (ids.uuid7(), 7, uuid.RFC_4122)
        assert made.int >> 80 == NOW_MS
        mask = (1 << 80) - 1 - (0xF << 76) - (0x3 << 62)  # without version and variant
        assert made.int & mask == int.from_bytes(random, "big") & mask


@pytest.mark.parametrize(
    ("session", "shown"),
    [
        (UUID, "0199a1b2"), (UUID.upper(), "0199A1B2"), (UUID + "0", UUID + "0"), (UUID[1:], UUID[1:]), ("s", "s"),
        (UUID.replace("a", "_"), UUID.replace("a", "_")), (UUID.replace("-", ""), UUID.replace("-", "")),
    ],
)  # fmt: skip
def test_a_session_is_shown_by_the_first_block_of_a_uuid(session: str, shown: str) -> None:
    assert ids.shown(session) == shown


def test_a_fingerprint_is_the_same_for_the_same_text() -> None:
    assert ids.fingerprint("") == "cae66941d9efbd404e4d88758ea67670"
    assert ids.fingerprint("a") != ids.fingerprint("b") and len(ids.fingerprint("\ud800")) == 32


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("s-1_a.json", "s-1_a.json"), ("", "%00"), (".hidden", "%2Ehidden"), ("a.b", "a.b"), ("a/b", "a%2Fb"),
        ("a b", "a%20b"), ("é", "%C3%A9"), ("\x7f\x80", "%7F%C2%80"), ("\ud800", "%ED%A0%80"), ("\n", "%0A"),
        ("x" * 120, "x" * 120), ("x" * 121, "x" * 80 + "~" + ids.fingerprint("x" * 121)), ("..", "%2E."),
    ],
)  # fmt: skip
def test_the_file_name_of_an_id(identifier: str, name: str) -> None:
    assert files.safe_name(identifier) == name


def test_what_is_set_aside_keeps_its_name_and_replaces_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    path = tmp_path / "s.json"
    found = []
    for text in ("one", "two", "three"):
        path.write_text(text)
        found.append(Path(files.set_aside(str(path))))
    assert [one.name for one in found] == [f"s.json.damaged-{NOW_MS}{more}" for more in ("", "-2", "-3")]
    assert [one.read_text() for one in found] == ["one", "two", "three"] and not path.exists()
