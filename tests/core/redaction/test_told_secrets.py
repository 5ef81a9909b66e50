"""Which word of a sentence is a secret: by its length, digits and signs, its quotes, and how it is led up to."""

from __future__ import annotations

import pytest
from secret_samples import vanishes

from core.redaction import redact
from core.redaction.prose import _alone, _is_quoted_secret, is_bare_secret
from core.redaction.terms import is_technical


@pytest.mark.parametrize(
    ("value", "linked", "is_one"),
    [
        ("abcdefghij12", True, True), ("abcdefghi12", True, False), ("abcdefghijk1", True, False),
        ("123456789012", True, False), ("abcdefghij12", False, False), ("abcdefghijklmN12", False, True),
        ("abcdefghijkmN12", False, False), ("abcdefghijklmn12", False, False), ("ABCDEFGHIJKLMN12", False, False),
        ("abcdefghijklmN1-2", False, False),
    ],
)  # fmt: skip
def test_a_token_without_quotes(value: str, linked: bool, is_one: bool) -> None:
    assert is_bare_secret(value, False, linked, False) is is_one


@pytest.mark.parametrize(
    ("value", "linked", "is_one"),
    [
        ("abcdeF1", False, True), ("abcdF1", False, False), ("abcdef1", False, False), ("ABCDEF1", False, False),
        ("abcd!f1", False, True), ("abcdef1!", False, False), ("!abcdef1", False, False), ("abcdefG", False, False),
        ("abcde1", True, True), ("abcd1", True, False), ("ab!c1", True, True), ("a!1b", True, False),
        ("12345678", True, False), ("abcd!efg", True, True), ("abc!efg", True, False), ("1!2#3$4%", True, False),
        ("lantern-moss-quiet-gate", True, True), ("lantern-moss-quiet", True, False),
        ("lantern-mo-quiet-gate", True, False), ("lantern-moss-the-gate", True, False),
        ("lantern-moss-qu_t-gate", True, False),
        *((f"{sign}abcdef1", True, False) for sign in "/~.{<-$[(|"), ("sha256", True, False),
    ],
)  # fmt: skip
def test_a_password_without_quotes(value: str, linked: bool, is_one: bool) -> None:
    assert is_bare_secret(value, True, linked, False) is is_one


def test_a_statement_gives_any_word_with_a_digit() -> None:
    given = ("abcd1", "abc1", "abcde", "12345", "abcde!")
    assert [is_bare_secret(value, True, False, True) for value in given] == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("value", "more", "is_one"),
    [
        ("moss quiet gate", "linked", True), ("moss quiet", "linked", False), ("moss q12", "linked", True),
        ("moss quiet gate", "any", True), ("moss quiet gate", "", False), ("moss quiet gate lamp", "", True),
        ("moss quiet g12", "", True), ("moss q12", "", False), ("the moss is quiet", "linked", False),
        ("moss quiet gate", "token linked", False), ("abc", "any", True), ("sha256", "linked", False),
        ("abcdefghij12", "token", True), ("abcdefghi12", "token", False), ("abcdefghijklm", "token", False),
        ("abcde1", "", True), ("abcd1", "", False), ("abcde!", "", True), ("abcd!", "", False), ("!abcde", "", False),
        ("abcdef", "linked", True), ("abcdef", "", False), ("abcde", "linked", False), ("Abcdef", "linked", False),
        ("abc_def", "linked", False), ("!!#!!#!", "linked", False), ("a1](b2c3", "linked", False),
        *((f"{sign}abcdef1", "linked", False) for sign in "/~.{<-$%,)"), ("", "any", False), ("${X}", "any", False),
    ],
)  # fmt: skip
def test_a_word_in_quotes(value: str, more: str, is_one: bool) -> None:
    assert _is_quoted_secret(value, "token" not in more, "linked" in more, "any" in more) is is_one


@pytest.mark.parametrize(
    ("behind", "told"),
    [
        ("hunter2", "hunter2"), ("hunte2", ""), ("abc1234", "abc1234"), ("ab12345", ""), ("version2", ""),
        ("hunters", ""), ("hunt-r2", ""), ("1hunter2", ""), ("hunter2, so", "hunter2"), ("hunter2 , so", "hunter2"),
        ("hunter2 and so", "hunter2"), ("hunter2 runs", ""), ("hunter2\nruns", "hunter2"), ("hunter2. so", "hunter2"),
        ("hünter2", ""), ("sha2562", ""),
    ],
)  # fmt: skip
def test_a_plain_word_counts_where_nothing_else_stands(behind: str, told: str) -> None:
    lower = f"password {behind}"
    start, stop = _alone(lower, 9, lower[9:].split()[0])
    assert lower[start:stop] == told


@pytest.mark.parametrize(
    ("value", "technical"),
    [
        ("argon2id", True), ("xargon2", False), ("settings2.py", True), ("page2", True), ("pages2x", False),
        ("sha256", True), ("sha", False), ("sha256x", False), ("sha256-x", True), ("rsa-4096", True), ("2fa", True),
        ("i18n", False), ("xyz12", False), ("password2", True), ("password12", True), ("password123", False),
        ("token_v2", True), ("token-v2", False), ("user1", True), ("username", False),
        ("a1…", True), ("a1...", True), ("a1..b", False), ("a1://b", True), ("a1::b", True), ("a1()", True),
        ("a1=>b", True), ("a1@b.c", True), ("a.1@bc", False), ("a1/b2/c3", True), ("ab/cd.x", True), ("ab/cd1", False),
        ("2024-x9", True), ("20245-y", False), ("12:30x", True), ("1234:5y", False), ("1.2.3x", True), ("1.2y9", False),
        ("12px", True), ("12pxy", False), ("12-char", True), ("123+45", True), ("foo(1", True), ("foo1(2", False),
        ("foo.bar[1", True), ("host:8080", True), ("host-a:8080", False), ("host:8080x", False),
        ("key=abc1", True), ("ke=abc1", False), ("k_y=abc1", True), ("key==", False), ("k1y=abc1", False),
        ("FOO_BAR1", True), ("FOO1", False), ("Foo_BAR1", False),
    ],
)  # fmt: skip
def test_what_names_a_technique_a_measure_or_code(value: str, technical: bool) -> None:
    assert is_technical(value) is technical


TOLD = r"""
the token -> «abcdefghij12» there
the password (staging): «hunter22x» there
the password was changed to «hunter22x» there
I set the token to «abcdefghij12» there
I rotated the secret, then changed the key; token: x, then the token is «abcdefghij12»
the password's «hunter22x» now
the password's "«hunter22x»" now
the password is **«hunter22x»**, so
the password is («hunter22x»), so
the password is “«hunter22x»”, so
the password is «hunter22x»<br>
the password is «hunter22x»&quot; x
the password is «hunter22x»\\n
the password is \\"«hunter 22x»\\" x
use `«hunter22x»` as the password, so
it is "«moss quiet gate lamp»" as your password, so
the password was changed from «Spring!25x» to "«Summer!25x»" today
the passwords were «hunter22x», «panda77x», and «zebra99x»
passwords = «hunter22x» & «panda77x»
ENV DB_TOKEN «abcd»
I changed the password and then set it to «hunter22x»
"""
KEPT = r"""
the password is required
the token -abcdefghij12 there
the token to abcdefghij12 there
the password. It is hunter22x
the password of ann! is hunter22x
the pass hunter22x there
the password is 'hunter22x
the passwords hunter22x
passwords: they must hunter22x
ENV DB_TOKEN abc
I set it to hunter22x
the password is fine; I eat it to hunter22x
"""


@pytest.mark.parametrize("line", TOLD.strip().splitlines())
def test_the_value_vanishes_and_nothing_else(line: str) -> None:
    vanishes(line.replace("\\\\", "\\"))


@pytest.mark.parametrize("text", KEPT.strip().splitlines())
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == (text, ())
