"""A long value behind the name of a secret costs time in proportion to its length, whatever it is made of."""

from __future__ import annotations

import time

import pytest
from test_redaction import slowness

from core.redaction import redact

PREFIXES = (
    "password=hunter22", "password: hunter22", 'password="hunter22', "token=", "api_key=ab12cd34ef56gh78", "pass: ",
    "--password ", "the password is hunter22", "Authorization: Bearer a1b2c3d4e5f6a7b8", "mysql -phunter22",
    "sshpass -p hunter22", "curl -u ann:hunter22", "Cookie: sid=", "https://ann:hunter22", "password:",
    "name: PASSWORD ",
)  # fmt: skip
UNITS = (
    ")", "]", "}", "(", "[", "{", ").", "()", ")(", ")]}", ".", ",", ";", ":", "'", '"', "`", "\\", "\\n", "\\r\\n",
    " ", "\t",
    "\n", "\r\n", "=", "&", "@", "/", "-", "_", "$", "<", ">", "|", "*", "#", "%", "a", "1", "aB3", "é",
    "\x1b[0m", "\u200b",
    "\xa0", "\uff1a",
)  # fmt: skip


def within(text: str, seconds: float) -> bool:
    """Whether a text is redacted in so much processor time on a quiet machine."""
    begun = time.process_time()
    redact(text)
    took = time.process_time() - begun
    return took < seconds or took < 3 * seconds * slowness()


@pytest.mark.parametrize("unit", [")", "]", "}", ").", ")]}", " "])
@pytest.mark.parametrize("prefix", ["password=hunter22", "token=", "api_key=ab12cd34ef56gh78", "password:"])
def test_a_value_that_ends_in_many_brackets(prefix: str, unit: str) -> None:
    assert within(prefix + unit * (300_000 // len(unit)), 2)


@pytest.mark.thorough
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_long_run_behind_every_prefix(unit: str) -> None:
    for prefix in PREFIXES:
        assert within(prefix + unit * (300_000 // len(unit)), 2), prefix


def test_brackets_that_close_around_a_value_stay() -> None:
    for text, clean in (
        ("connect(password=hunter22).", "connect(password=[redacted:password])."),
        ("f({a: [password=hunter22]}).", "f({a: [password=[redacted:password]]})."),
        ("password=hunter(2)", "password=hunter(2)"),
        ("password=9hunter(2).", "password=[redacted:password]."),
    ):
        assert redact(text)[0] == clean
