"""Whether the value behind a secret's name is one: by its length, its form, and what stands around it."""

from __future__ import annotations

import pytest

from core.redaction import assignments, redact, redact_value
from core.redaction.assignments import _accept, _closing, _separated, _stands_alone, _trimmed
from core.redaction.names import family, is_code, is_placeholder, is_strong, words_of


def accepted(
    kind: str, value: str, *, quoted: bool = False, tight: bool = False, alone: bool = False, sign: str = ":"
) -> bool:
    return _accept(kind, value, quoted, tight, alone, sign)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("abcdefgh1234567", False), ("abcdefgh12345678", True), ("1234567812345678", False),
        ("abcdefghabcdefgh", False),
        ("/bcdefgh12345678", False), (".bcdefgh12345678", False), ("~bcdefgh12345678", False),
        ("a://defgh12345678", False), ("abcdefgh 12345678", False), ("abcdefgh/12345678", True),
    ],
)  # fmt: skip
def test_what_looks_machine_made(value: str, expected: bool) -> None:
    assert is_strong(value) is expected
    for kind in ("key", "auth", "query"):
        assert accepted(kind, value) is expected


def test_an_address_is_no_credential() -> None:
    assert not accepted("auth", "http-abcdefgh-1234") and accepted("query", "http-abcdefgh-1234")


@pytest.mark.parametrize(
    ("value", "alone", "expected"),
    [("abcde", True, False), ("abcdef", True, True), ("abcdef", False, False), ("abcde1", False, True)],
)
def test_what_follows_bearer(value: str, alone: bool, expected: bool) -> None:
    assert accepted("schemed", value, alone=alone) is expected


def test_a_header_takes_a_shorter_value_in_quotes() -> None:
    assert accepted("authorization", "abcdefgh", quoted=True)
    assert not accepted("authorization", "abcdefg", quoted=True)
    assert not accepted("authorization", "abcdefgh") and accepted("authorization", "abcdefgh12345678")
    assert not accepted("authorization", "abcd efgh", quoted=True)
    assert not accepted("authorization", "abcdefgh", quoted=True, sign=",")
    assert not accepted("token", "abcdefgh", quoted=True, sign=",")
    assert accepted("token", "abcdefgh12345678", quoted=True, sign=",")


@pytest.mark.parametrize(
    ("value", "more", "expected"),
    [
        ("a1b2c", {"tight": True, "sign": "="}, False), ("a1b2c3", {"sign": "="}, True),
        ("a1b2c3", {"sign": ":"}, False),
        ("a1b2c3", {"sign": ":", "quoted": True}, True), ("abcdef", {"sign": "="}, False),
        ("a1/b2c3", {"sign": "="}, False), ("a1::b2c3", {"sign": "="}, False), ("4" * 15, {"sign": "="}, False),
        ("4" * 16, {"sign": "="}, True),
    ],
)  # fmt: skip
def test_the_value_of_pass(value: str, more: dict[str, object], expected: bool) -> None:
    assert accepted("pass", value, **more) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "more", "expected"),
    [
        ("/etc/passwd", {"quoted": True}, False), ("~/x", {"quoted": True}, False), ("/secret", {"quoted": True}, True),
        ("db_password", {"tight": True}, False), ("db_password", {"quoted": True}, True),
        ("password1", {"tight": True}, True), ("(x", {"tight": True}, False), ("(x", {"quoted": True}, True),
        ("q", {"tight": True}, True), ("ab", {"alone": True}, False), ("abc", {"alone": True}, True),
        ("abcde!", {}, True), ("abcd!", {}, False), ("abcdef", {}, False), ("abcde1", {}, True), ("abcd1", {}, False),
        ("hunter(2)", {"tight": True}, False), ("hunter(2)", {"quoted": True}, True),
    ],
)  # fmt: skip
def test_the_value_of_password(value: str, more: dict[str, object], expected: bool) -> None:
    assert accepted("password", value, **more) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "more", "expected"),
    [
        ("http://a1b2c3d4e5", {"quoted": True}, False), ("/a1b2c3d4", {"quoted": True}, False),
        ("./a1b2c3d4", {"quoted": True}, False), ("~/a1b2c3d4", {"quoted": True}, False),
        ("arn:a1b2c3d4", {"quoted": True}, False),
        ("so many words", {"quoted": True}, False), ("abcdefgh12345678 x", {"quoted": True}, True),
        ("abcdefgh12345678 x", {"tight": True}, False), (" a1b2c3d4 ", {"quoted": True}, True),
        ("api_token", {"tight": True}, False), ("api_token", {"quoted": True}, True),
        ("4" * 15, {"quoted": True}, False), ("4" * 16, {}, True),
        ("abcdefg", {"quoted": True}, False), ("abcdefgh", {"quoted": True}, True),
        ("a1b2c3d", {"quoted": True}, False),
        ("a1b", {"tight": True}, False), ("a1b2", {"tight": True}, True), ("abcdefg", {"tight": True}, False),
        ("abcdefgh", {"tight": True}, True), ("abcd", {"tight": True, "sign": "="}, True),
        ("abc", {"tight": True, "sign": "="}, False),
        ("a1b2c3d", {"alone": True}, False), ("a1b2c3d4", {"alone": True}, True), ("a1b2c3d4e5f", {}, False),
        ("a1b2c3d4e5f6", {}, True),
        ("a" * 15, {"alone": True}, False), ("a" * 16, {"alone": True}, True), ("a" * 16, {}, False),
        ("é" * 16, {"alone": True}, False), ("a" * 15 + "_a", {"alone": True}, False),
        ("a" * 15 + "-a", {"alone": True}, False),
    ],
)  # fmt: skip
def test_the_value_of_a_token(value: str, more: dict[str, object], expected: bool) -> None:
    assert accepted("token", value, **more) is expected  # type: ignore[arg-type]


def test_a_placeholder_is_no_value_of_any_kind() -> None:
    for kind in ("schemed", "key", "authorization", "password", "pass", "token"):
        assert not accepted(kind, "${TOKEN_1_OF_THE_SERVICE}", quoted=True, tight=True, alone=True, sign="=")


@pytest.mark.parametrize(
    "value",
    [
        "", "  ", "[redacted:token]", "${X}", "$(cat x)", "{{ x }}", "<token>", "op://x", "vault:x", "env:x", "file:x",
        "secrets.x", "null", "ChangeMe", "your-key", "your_key", "yourpassword", "my-api-key-1", "insert-x",
        "process.env.X", "os.environ['X']", "$TOKEN", "$TOKEN_2", "%TOKEN%", "****", "xxxx", "...",
        "$x.y", "$x->y", "$x[", "$x(", "$x-", "$1", ":x", "@x", "{a}.{b}", "{a}.bcd", "my-secret-token", "some_user",
        "0x" + "1a" * 20, "your pass word", "put your word here",
    ],
)  # fmt: skip
def test_what_stands_for_a_secret(value: str) -> None:
    assert is_placeholder(value) and is_placeholder(f" {value} ")


@pytest.mark.parametrize(
    "value",
    [
        "$1TOKEN",
        "$a-b",
        "%x",
        "x%",
        "your1",
        "xyz",
        "hunter2",
        "-x1",
        "envy:x",
        "$x.y1",
        "$x[1",
        ":x1",
        "@x1",
        "{a}.bcde",
        "{abcd",
        "{ab-cd}",
        "my-secret-x",
        "secret-token",
        "0x" + "1a" * 19 + "1",
        "0x" + "1g" * 20,
        "0y" + "1a" * 20,
        "your pass w0rd",
    ],
)
def test_what_is_a_value(value: str) -> None:
    assert not is_placeholder(value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("clientSecret", ["client", "secret"]), ("CLIENT_SECRET", ["client", "secret"]), ("APIKey", ["api", "key"]),
        ("client-secret", ["client", "secret"]), ("userID", ["user", "id"]), ("a1B2", ["a1", "b2"]), ("__x__", ["x"]),
        ("", []), ("XMLHttp", ["xml", "http"]),
    ],
)  # fmt: skip
def test_the_words_of_a_name(name: str, words: list[str]) -> None:
    assert words_of(name) == words


def test_a_name_is_no_longer_than_128_characters() -> None:
    assert family("a" * 119 + "_password") == "password"
    assert family("a" * 120 + "_password") == ""


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("a,", "a"), ("a.;:,", "a"), ("a)", "a"), ("f(a)", "f(a)"), ("f(a))", "f(a)"), ("[a]", "[a]"), ("a]}", "a"),
        ("a.)", "a"), ("{a}.", "{a}"), ("", ""), (")", ""), ("(a", "(a"),
    ],
)  # fmt: skip
def test_punctuation_behind_a_value_is_no_part_of_it(value: str, kept: str) -> None:
    assert _trimmed(value) == kept


@pytest.mark.parametrize(
    ("rest", "alone"),
    [
        ("", True), ("\nnext", True), (" .,)]}", True), (" # comment", True), (" // comment", True), (" <b>", True),
        (" -x", True), (" b=1", True), (" b =1", False), ("&b", True), (";b", True), (",b", True), ("\\n", True),
        (" and more", False), (" and b=1", False), (" " * 47 + "x", False), (" " * 48 + "x", True),
    ],
)  # fmt: skip
def test_whether_a_value_stands_alone_on_its_line(rest: str, alone: bool) -> None:
    assert _stands_alone("key" + rest, 3) is alone


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('ab"c', 2), ('ab\\"c"', 5), ('ab\\\\"c"', 4), ('ab\\\\\\"c"', 7), ("abc", 3), ('ab\nc"', 2), ('"', 0),
    ],
)  # fmt: skip
def test_where_a_quoted_value_ends(text: str, end: int) -> None:
    assert _closing(text, 0, '"', len(text)) == end
    assert _closing('"' + text, 1, '"', len(text) + 1) == end + 1
    assert _closing(text, 0, '"', 1) == min(1, end)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("get(x)", True), ("os.get_it(x)", True), ("names[0]", True), ("1(x)", False), ("(x)", False),
        ("a-b(x)", False),
        ("self.token", True), ("a.b.c_d", True), ("a.b1", False), ("a", False), ("a.", False), ("é.a", False),
    ],
)  # fmt: skip
def test_whether_a_valueis_code(value: str, code: bool) -> None:
    assert is_code(value) is code


def test_what_stands_between_a_name_and_its_value() -> None:
    import re

    separator = re.compile(assignments._SEPARATOR)

    def separated(text: str, end: int = 3, start: int = 0) -> tuple[str, int, bool] | None:
        return _separated(text, start, end, separator)

    assert separated("key=x") == ("=", 4, True)
    assert separated("key= x") == ("=", 5, False)
    assert separated("key =x") == ("=", 5, False)
    assert separated("key==x") == ("==", 5, True)
    assert separated("key: x") == (":", 5, False)
    assert separated("key:x") == (":", 4, False)
    assert separated("key => x") == ("=>", 7, False)
    assert separated('key": "x') == (":", 6, False)
    assert separated("key: str = x") == ("=", 11, False)
    assert separated("key != x") is None and separated("key::x") is None and separated("key x") is None
    assert separated("--key x", 5) == (" ", 6, True)
    assert separated("--keyx", 5) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql --password hunter2x", "mysql --password [redacted:password]"),
        ("--password hunter2x (b", "--password [redacted:password] (b"),
        ("<password>hunter2x</password>", "<password>[redacted:password]</password>"),
        ("password>hunter2x", "password>hunter2x"),
        ("<password>hunter2x", "<password>hunter2x"),
        ("API key: abcdefgh12345678", "API key: [redacted:api-key]"),
        ("https://h/x?sig=abcdefgh12345678", "https://h/x?sig=[redacted:api-key]"),
        ("arn:aws:secret:x=abcdefgh12345678", "arn:aws:secret:x=abcdefgh12345678"),
        ("Authorization: Bearer abcdef", "Authorization: Bearer [redacted:authorization]"),
        ("Authorization: Digest username=x, nonce=y\nnext", "Authorization: [redacted:authorization]\nnext"),
        ("token=a1b2c3d4; secret=q9w8e7r6", "token=[redacted:token]; secret=[redacted:secret]"),
    ],
)
def test_what_is_left_of_a_line(text: str, shown: str) -> None:
    assert redact(text)[0] == shown


def test_values_of_an_object() -> None:
    strong = "abcdefgh12345678"
    given = {
        "key": strong,
        "KEY_X": "short",
        "auth": strong,
        "pass": "a1b2c3",
        "password": "/x",
        "pwd": "/x/y",
        "token": "null",
    }
    assert redact_value(given) == {
        "key": strong, "KEY_X": "short", "auth": "[redacted:api-key]", "pass": "a1b2c3",
        "password": "[redacted:password]", "pwd": "/x/y", "token": "null",
    }  # fmt: skip
    twice = {f"token={strong}": 1, f"token={strong[::-1]}": 2}
    assert list(redact_value(twice)) == ["token=[redacted:token]", "token=[redacted:token]#2"]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password1", "password"), ("secret_string", "secret"), ("secretBinary", "secret"), ("binary", ""),
        ("SECRET_KEY_BASE", "secret"), ("psk", "pass"), ("SSHPASS", "password"), ("sshpass", ""), ("pat", ""),
        ("GITHUB_PAT", "token"), ("HEX_PAT", ""), ("githubPat", ""), ("REDIS_AUTH", "password"), ("redis_auth", "auth"),
        ("auth", "auth"), ("DB_SALT", "key"), ("SALT", ""), ("dbSalt", ""), ("CACHE_KEY", ""), ("harbour_key", ""),
        ("HARBOUR_KEY", "key"), ("subtoken", ""), ("nextToken", ""), ("gateToken", "token"), ("PASS_PROD", "pass"),
        ("forgotPassword", ""), ("userForgotten", ""), ("dbpass", "password"), ("compass", ""), ("apikey1", "api-key"),
        ("my_privatekey", "private-key"), ("private_key", "private-key"), ("deploy_key_2", "api-key"), ("pw", "pw"),
        ("db_pw", "password"), ("credentials", "secret"), ("prod", ""), ("2", ""),
    ],
)  # fmt: skip
def test_what_a_name_announces(name: str, kind: str) -> None:
    assert family(name) == kind


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("password:\n  x1y2z3", ("password",)), ("password:\n  x1y2z", ()), ("password:\nx1y2z3", ()),
        ("password:\nHunter22", ("password",)), ("password:\nHunter2", ()), ("password:\nhunter-22", ("password",)),
        ("password:\nhunter22", ()), ("password:\nA1b" + "2" * 61, ("password",)), ("password:\nA1b" + "2" * 62, ()),
        ("  password:\n  x1y2z3", ()), ("  password:\n   x1y2z3", ("password",)), ("a password:\n  x1y2z3", ()),
        ("- password:\n    x1y2z3", ("password",)), ("password:\n  -x1y2z3", ()), ("password:\n  #x1y2z3", ()),
        ("password:\n  x1y2 z3", ()), ("password:\n  x1y2z3:", ()), ("password:\n  a://x1y2", ()),
        ("password:\n\n\n  x1y2z3", ()), ("token:\n  abcdefgh12345678", ("token",)), ("token:\nabcdefgh12345678", ()),
        ("token:\n  abcdefgh", ()), ("password:\n  get(x1)", ()), ("password:\n  'x1y2z3',", ("password",)),
        ("define('NONCE_SALT', '" + "p q!" * 8 + "')", ("api-key",)),
        ("define('NONCE_SALT', '" + "p q!" * 7 + "pq!')", ()),
        ("x.set('DB_PASSWORD', 'abc')", ("password",)), ("x.got('DB_PASSWORD', 'abc')", ()),
        ("x.got('DB_PASSWORD', 'abcdef1!')", ("password",)), ("x.got('DB_PASSWORD', 'abcdefg')", ()),
        ("set('DB_TOKEN', 'a1b2c3d4')", ("token",)), ("got('DB_TOKEN', 'a1b2c3d4')", ()),
        ("TOKEN_NAME = 'API_TOKEN'", ()), ("token = 'API_TOKEN'", ()), ("token = 'API_T0KEN'", ("token",)),
        ("connect(password=given_bytes)", ()), ("connect(password=given_bytes, x=1)", ("password",)),
        ('print("Password: ")', ()), ('x="password":"abc"', ("password",)),
        ("https://h/x?key=abcdefgh12345678", ("api-key",)), ("https://h/x?kay=abcdefgh12345678", ()),
        ("API  key: abcdefgh12345678", ("api-key",)), ("apt key: abcdefgh12345678", ()),
        ("--token via the CLI", ()), ("--token abcdefgh1", ("token",)), ("-token abcdefgh1", ()),
        ("-password abcdefg1", ("password",)),
        ("a <b token>x1y2z3d4</b>", ()),
        ("\\ntoken=abcdefgh1", ("token",)), ("pw=abcdef", ()), ("pw='abcdef'", ("password",)), ("pw='abcde'", ()),
        ("pass: abcdef1", ("password",)), ("pass: abcde1", ()), ("pass: abcdef1 and more", ()),
        ("pass: abcdefg1 and more", ("password",)), ("auth=oauth2-proxy-v7.6.0x1", ("auth",)),
        ("password: **", ()), ("**password:** abc1234", ("password",)),
    ],
)  # fmt: skip
def test_the_value_of_an_assignment_by_where_it_stands(text: str, kinds: tuple[str, ...]) -> None:
    assert redact(text)[1] == kinds
