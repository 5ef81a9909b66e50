"""A secret whose name stands in a field, a cell, an argument or a column before it; and what is between them.

`«…»` marks what must vanish, and nothing else may change.
"""

from __future__ import annotations

import pytest
from secret_samples import vanishes

from core.redaction import redact, redact_value
from core.redaction.fields import without_named

FIELDS = r"""
{"Name": "DB_TOKEN", "Value": "«abcdefg1»"}
{"Name": "DB_PASSWORD", "Value": "«three word phrase»"}
AUTH and DB_PASSWORD\nname: DB_PASSWORD\nvalue: «pinecone»
name: DB_PASSWORD\nvalue: «pinecone»\nname: DB_TOKEN\nvalue: «abcdefg1»
name: DB_PASSWORD\nvalue=«pinecone»
put --name DB_PASSWORD --value «pinecone» x
put -n DB_PASSWORD --value «pinecone» x
name: DB_PASSWORD\nnames of it\nvalue: «pinecone»
variable "db_token" {\n  default = "«abcdefg1»"\n}
<key>Password</key><string>«simple»</string>
<entry key="db.password">«sorrel»</entry>
"""
KEPT_FIELDS = r"""
{"Name": "DB_TOKEN", "Value": "abcdef1"}
{"Name": "DB_TOKEN", "Value": "abcdefgh"}
{"Name": "DB_TOKEN", "Value": "abcd efg1"}
{"Name": "DB_PASSWORD", "Value": "two words"}
{"Name": "DB_PASSWORD", "Value": "/abc"}
{"Name": "DB_PASSWORD", "Value": "~abc"}
{"Name": "DB_PASSWORD", "Value": "a://abc"}
{"Name": "DB_PASSWORD", "Value": "arn:abc"}
{"Name": "DB_PASSWORD"}, {"Value": "pinecone"}
name: DB_PASSWORD\n\nvalue: pinecone
- name: DB_PASSWORD\n- value: pinecone
name: DB_PASSWORD\nname: X\nvalue: pinecone
name: DB_PASSWORD\nkey = X\nvalue: pinecone
name: DB_PASSWORD\nvalue pinecone
name: DB_PASSWORD\nx: pinecone
nome: DB_PASSWORD\nvalue: pinecone
<key>Password</key><true/><string>simple</string>
"""
PASSED = r"""
new mysqli("h", "u", "«x1y2»", "d")
server.login("ann",\n\t"«x1y2z3»")
server.login('ann', '«x1y2z3»'); server.login('bob', '«x1y2z4»')
create user a identified by '«x1y2z3»'
create user a identified by password '«x1y2z3»'
grant all on x to a identified  by «x1y2z3»;
CREATE USER a IDENTIFIED BY «x1y2z3»;
ALTER USER a IDENTIFIED WITH plug BY «x1y2z3»;
IDENTIFIED BY x, IDENTIFIED BY '«x1y2z3»'
"""
KEPT_PASSED = r"""
new mysqli("h", "u")
new mysqli("h", u, "x1y2z3")
server.login("ann", "x1y")
server.login("ann", "abcdef")
server.login("ann", "x1y2 z3")
server.login("ann", x1y2z3)
server.login("x1y2z3")
server.login("ann" "<x1y2z3>")
create user a identified by x
create user a identified as 'x1y2z3'
create user a identified with plug as 'x1y2z3'
a thing identified by 'x1y2z3'
"""
COLUMNS = r"""
name,token\nann,«abcdefghij12»\nbob,«abcdefghij34»\n
| name | password |\n|---|---|\n| ann | «hunter22» |\n| bob | «hunter33» |\n\n| x | hunter44 |
name;password\nann;«hunter22»\nbob;x;hunter33
name\tpassword\nann\t«hunter22»
password,a,b\n«hunter22»,c,d\n\nx,y\nz,hunter33
a note on this password here\nname,password\nann,«hunter22»
insert ignore into u (a, password) values ('x', '«y»')
replace into u (password) values ("«y»"); insert into u (a) values ('z')
insert into u (a, password) values (now(1, 2), '«y»'), ('b', '«z»')
insert into u (a, b) values ('x', 'y'); insert into u (password) values ('«z»')
"""
KEPT_COLUMNS = r"""
name,password\nann,hunter
name,token\nann,abcdefghi12
password\nhunter22
name,what the user password is\nann,hunter22
name,password!\nann,hunter22
name,password\nann hunter22
insert into u (a, password) select 'x', 'y'
insert into u (a, password) values ('x', '${Y}')
insert into u (a, b) values ('x', 'y')
"""


def lines(*tables: str) -> list[str]:
    return [
        line.replace("\\n", "\n").replace("\\t", "\t") for table in tables for line in table.strip("\n").splitlines()
    ]


@pytest.mark.parametrize("line", lines(FIELDS, PASSED, COLUMNS))
def test_the_value_vanishes_and_nothing_else(line: str) -> None:
    vanishes(line)


@pytest.mark.parametrize("text", lines(KEPT_FIELDS, KEPT_PASSED, KEPT_COLUMNS))
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize(
    ("name", "kind"),
    [("pw", "password"), ("pass", "password"), ("DB_PASSWORD", "password"), ("DB_TOKEN", "token"),
     ("HARBOUR_KEY", "api-key"), ("client_secret", "secret")],
)  # fmt: skip
def test_the_mark_says_what_the_name_announces(name: str, kind: str) -> None:
    assert redact(f"name: {name}\nvalue: abcdefg1\n")[1] == (kind,)
    assert redact(f"x,{name}\ny,abcdefghij12\n")[1] == (kind,)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"name": "API_TOKEN", "value": "abc"}, "abc"), ({"name": "API_TOKEN", "value": "abcd"}, None),
        ({"name": "API_TOKEN", "value": "/abcd"}, "/abcd"), ({"name": "API_TOKEN", "value": "~abcd"}, "~abcd"),
        ({"name": "API_TOKEN", "value": "a://bcd"}, "a://bcd"), ({"name": "API_TOKEN", "value": "ab cd"}, "ab cd"),
        ({"name": "API_TOKEN", "value": "ab\ncd"}, "ab\ncd"), ({"name": "API_TOKEN", "value": "abcd\n"}, None),
        ({"name": "PASSWORD", "value": "moss quiet"}, None),
        ({"name": "PASSWORD", "value": "is required"}, "is required"),
        ({"name": "PASSWORD", "value": "y" * 4096}, None), ({"name": "PASSWORD", "value": "y" * 4097}, "y" * 4097),
        ({"name": "Authorization", "value": "a b"}, None), ({"name": "x" * 112 + " password", "value": "abcd"}, "abcd"),
        ({"name": "x_" * 56 + "password", "value": "abcd"}, None),
        ({"name": "x_" * 57 + "password", "value": "abcd"}, "abcd"),
        ({"name": "API_TOKEN", **{f"k{n}": "v" for n in range(29)}, "value": "abcd"}, None),
        ({"name": "API_TOKEN", **{f"k{n}": "v" for n in range(30)}, "value": "abcd"}, "abcd"),
        ({"token": {"value": "abcd"}, "x": {"value": "abcd"}}["token"], "abcd"),
    ],
)  # fmt: skip
def test_the_value_beside_a_name(given: dict[str, str], kept: str | None) -> None:
    told = without_named(given)
    assert isinstance(told, dict)
    assert (told["value"] == kept) if kept is not None else told["value"].startswith("[redacted:")
    assert {key: value for key, value in told.items() if key != "value"} == {
        key: value for key, value in given.items() if key != "value"
    }


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--password", "x1", "--password", "y2"], ["--password", "[redacted:password]"] * 2),
        (["--password=x", "y2"], ["--password=x", "y2"]), (["--token", 5, "abc"], ["--token", 5, "abc"]),
        (["--token", "./x/y"], ["--token", "./x/y"]), (["--token", "TOKEN"], ["--token", "TOKEN"]),
        (["--token", "XyZ"], ["--token", "[redacted:token]"]), (["--token", ""], ["--token", ""]),
        (["--pw", "abc"], ["--pw", "[redacted:password]"]), (["--key", "abc"], ["--key", "abc"]),
        (["token", "abc"], ["token", "abc"]), (["--token"], ["--token"]),
        (["--token", "abc", "x" * 7_989], ["--token", "[redacted:token]", "x" * 7_989]),
        (["--token", "abc", "x" * 7_991], ["--token", "abc", "x" * 7_991]),
        (["sshpass", "-phunter22x", "ssh"], ["sshpass", "-p[redacted:password]", "ssh"]),
    ],
)  # fmt: skip
def test_the_word_behind_an_option(words: list[object], left: list[object]) -> None:
    assert without_named({"args": words}) == {"args": left}
    assert without_named({"args": tuple(words)}) == {"args": left}


def test_what_a_name_holds_is_redacted_at_any_depth_below_it() -> None:
    assert redact_value({"token": {"value": ["abcd"], "other": "abcd"}, "kind": "Secret", "data": {1: "x"}}) == {
        "token": {"value": ["[redacted:token]"], "other": "abcd"}, "kind": "Secret", "data": {"1": "[redacted:secret]"},
    }  # fmt: skip
    assert without_named({"kind": "Secret", "stringData": {"a": "b"}}) == {
        "kind": "Secret", "stringData": {"a": "[redacted:secret]"},
    }  # fmt: skip
    assert without_named({"kind": "ConfigMap", "data": {"a": "b"}}) == {"kind": "ConfigMap", "data": {"a": "b"}}
