"""Colours of a terminal, zero-width marks, odd spaces and colons, and other ends of lines hide no secret.

`«…»` marks what must vanish, and nothing else may change.
"""

from __future__ import annotations

import pytest

from core.redaction import redact
from core.redaction.obfuscation import is_obfuscated as is_covered

HIDDEN = r"""
\x1b[33m«AKIA⟦⟧Y34FZKBOKMUTVV7A»\x1b[0m
\x1b[36mDB_PASSWORD\x1b[39m=\x1b[33m«Kiw1fru1t99»\x1b[39m
\x1b[1mpassword\x1b[0m: «Kiw1fru1t99»
\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"«Kiw1fru1t99»"\x1b[0m\x1b[1;39m,
\x1b[38;2;255;100;100mDB_PASSWORD\x1b[38;2;255;100;100m=\x1b[38;2;255;100;100m«Kiw1fru1t99»\x1b[0m
\x1b[0m«dapi⟦⟧0123456789abcdef0123456789abcdef»
{"log": "\\u001b[36mDB_PASSWORD\\u001b[39m=\\u001b[33m«Kiw1fru1t99»\\u001b[39m"}
password=«Kiw1\x1b[0mfru1t99» there
password:\xa0«Kiw1fru1t99»
password\u202f=\u202f«Kiw1fru1t99»
PASSWORD\u200b=«Kiw1fru1t99»
pass\u00adword=«Kiw1fru1t99»
\ufeffpassword=«Kiw1fru1t99»
password\uff1a«Kiw1fru1t99»
password:\r\n  «Kiw1fru1t99»\r\nport: 1
{"file": "password:\\r\\n  «Kiw1fru1t99»\\r\\nport: 1"}
api_token: |\r\n  «d41bc7f09e2a4417aa63»\r\nport: 1
Password:\n\n    «Xk29vbQp77»\n\nthen
db.internal:5432:shop:shop:«cedarPlough38»\r\nx
"""
ESCAPES = ("\\x1b", "\\xa0", "\\u00ad", "\\u200b", "\\u202f", "\\ufeff", "\\uff1a", "\\r", "\\n")


def text_of(line: str) -> str:
    """A line of the table as the text it stands for: `\\\\` is a backslash."""
    parts = line.replace("⟦⟧", "").split("\\\\")
    for escape in ESCAPES:
        parts = [part.replace(escape, escape.encode().decode("unicode_escape")) for part in parts]
    return "\\".join(parts)


@pytest.mark.parametrize("line", HIDDEN.strip().splitlines())
def test_the_value_vanishes_and_nothing_else(line: str) -> None:
    parts = text_of(line).replace("»", "«").split("«")
    clean, kinds = redact("".join(parts))
    head, *rest = clean.split("[redacted:")
    assert [head, *(part.partition("]")[2] for part in rest)] == parts[::2]
    assert len(kinds) == 1 and redact(clean) == (clean, ())


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[32m✓\x1b[0m 12 tests passed \x1b[2m(3.1 s)\x1b[0m", "\x1b[1mpassword\x1b[0m is \x1b[33mrequired\x1b[0m",
        "日本：東京", "l’entrée\u202f: 12\xa0€", "👩\u200d💻 token\u200dize2", "PASSWORD\u200b=\u200b${DB_PASSWORD}",
        "password:\r\n    required: true\r\n", "password:\n\n  - one1two",
    ],
)  # fmt: skip
def test_what_is_coloured_and_no_secret_stays(text: str) -> None:
    clean, kinds = redact(text)
    assert clean is text and not kinds


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("a\u200bb", True), ("a\uff1a", True), ("a\xa0b", True), ("пароль", True), ("ключ", False), ("senha", True),
        ("\x1b[1mb", True), ("a \\u001b[b", True), ("\\033[", True), ("\\x1b[", True), ("[a", False), ("\x1bb", False),
        ("a%3db", False), ("key%3db", True), ("key=b%", False), ("a &amp; b", False), ("key &amp; b", True),
        ("key \\u003d b", True), ("key \\u0041 b", False), ("password", False), ("", False),
    ],
)  # fmt: skip
def test_whether_anything_might_cover_a_secret(text: str, covered: bool) -> None:
    assert is_covered(text, text.lower()) is covered


def test_each_of_many_coverings_is_lifted() -> None:
    one = "pass\u00adword=«Kiw1fru1t99» " + "plain words of the work " * 100
    parts = (one * 3).replace("»", "«").split("«")
    clean, kinds = redact("".join(parts))
    assert clean == "[redacted:password]".join(parts[::2]) and kinds == ("password",) * 3
