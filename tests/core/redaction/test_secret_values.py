"""Whether the value behind a secret's name is one: by its length, its form, and what stands around it."""

from __future__ import annotations

from core.redaction import redact, redact_value

WHAT_IS_LEFT_OF_A_LINE = (
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
)  # fmt: skip


def test_what_is_left_of_a_line() -> None:
    for text, shown in WHAT_IS_LEFT_OF_A_LINE:
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


THE_VALUE_OF_AN_ASSIGNME = (
    ("password:\n  x1y2z3", ("password",)), ("password:\n  x1y2z", ()), ("password:\nx1y2z3", ()),
    ("password:\nHunter22", ("password",)), ("password:\nHunter2", ()), ("password:\nhunter-22", ("password",)),
    ("password:\nhunter22", ()), ("password:\nA1b" + "2" * 61, ("password",)), ("password:\nA1b" + "2" * 62, ()),
    ("  password:\n  x1y2z3", ()), ("  password:\n   x1y2z3", ("password",)), ("a password:\n  x1y2z3", ()),
    ("- password:\n    x1y2z3", ("password",)), ("password:\n  -x1y2z3", ()), ("password:\n  #x1y2z3", ()),
    ("password:\n  x1y2 z3", ()), ("password:\n  x1y2z3:", ()), ("password:\n  a://x1y2", ()),
    ("password:\n\n\n  x1y2z3", ()), ("token:\n  abcdefgh12345678", ("token",)), ("token:\nabcdefgh12345678", ()),
    ("token:\n  abcdefgh", ()), ("password:\n  get(x1)", ()), ("password:\n  'x1y2z3',", ("password",)),
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
    ("\\ntoken=abcdefgh1", ("token",)), ("pw=abcdef", ()),
    ("pass: abcdef1", ("password",)), ("pass: abcde1", ()), ("pass: abcdef1 and more", ()),
    ("pass: abcdefg1 and more", ("password",)),
    ("password: **", ()), ("**password:** abc1234", ("password",)),
)  # fmt: skip


def test_the_value_of_an_assignment_by_where_it_stands() -> None:
    for text, kinds in THE_VALUE_OF_AN_ASSIGNME:
        assert redact(text)[1] == kinds
