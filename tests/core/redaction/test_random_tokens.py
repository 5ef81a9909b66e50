"""Tokens that chance made are found by length, signs and runs; and whether it is worth looking for a shape at all."""

from __future__ import annotations

from core.redaction import redact
from core.redaction.search import find_secrets
from core.redaction.tokens import find_random, is_random

TOKEN = "q7Xz2LmR9tWv4KpD8sHy3NbJ"  # 24 characters, as chance might make them
LONG = TOKEN + TOKEN[::-1]


WHETHER_CHANCE_MADE_A_TOKEN = (
        (TOKEN, True), (TOKEN[:-1], False), (LONG, True), (TOKEN.lower(), False), (TOKEN.upper(), False),
        ("qXzLmRtWvKpDsHyNbJqXzLmRtWv", False), ("AC" + "0a1b2c3d" * 4, False), ("qX7z" * 6, False),
        ("0123456789012345" + "aBcDeFgH", True), ("01234567890123456" + "aBcDeFg", False),
        ("aX" + "".join("abcdefghijklmnopqrstuvwxyz") + "7q2", False), ("WriteI32BEandReadMoreOfIt", False),
        ("abcDEFghiJKLmnoPQR7x2Y9z", True), ("abcDEFghiJKLmnoPQRS7x2Y9", False),  # three quarters in runs of three
        ("abcDEFghiJKLmno72xYzWvUtS", True), ("abcDEFghiJKLmnop72xYzWvUt", False),  # with one number, six tenths
        ("AbcDefGhiJklMnoPqr7x2Y9z", True), ("AbcDefGhiJklMnoPqrs7x2Y9", False),
)  # fmt: skip


def test_whether_chance_made_a_token() -> None:
    for token, random in WHETHER_CHANCE_MADE_A_TOKEN:
        assert is_random(token) is random


def found(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in find_random(text, find_secrets)]


WHERE_TOKENS_STAND = (
        (f"{TOKEN} and {TOKEN}", [TOKEN, TOKEN]), (f"({TOKEN})", [TOKEN]), (f"é{TOKEN}é", [TOKEN]),
        (f"sha256-{LONG}", []), (f"SHA256:{LONG}", []), (f"h1:{LONG}", []), (f"msg_{LONG}", []),
        (f"xh1_{LONG}", [f"xh1_{LONG}"]),
        (f"//{LONG}", []), (f"https://host:8080/{LONG}", []), (f"https://host/?a={LONG}", [LONG]),
        (f"https://host/#a.{LONG}", [LONG]), (f"https://host {LONG}", [LONG]),
        (f"/tmp/{LONG}/x", [LONG]), (f"/a/sha1-{LONG}/{LONG}", [LONG]), (f"a/b/{LONG}/{LONG}", [f"a/b/{LONG}/{LONG}"]),
        (f"price_{TOKEN}", []), (f"a/prod_{TOKEN}/b", []), (f"price_{TOKEN}_secret_x", [f"price_{TOKEN}_secret_x"]),
        (f"prices_{TOKEN}", [f"prices_{TOKEN}"]), (f"data:image/png;base64,{LONG}", []),
        (f"iVBORw0KGgo{LONG}{LONG}", []), (f"iVBORw0KGgo{TOKEN}", [f"iVBORw0KGgo{TOKEN}"]),
        (f"iVBORw0KGgo{(LONG + LONG)[:53]}", []), (f"iVBORw0KGgo{(LONG + LONG)[:52]} {TOKEN}",
         [f"iVBORw0KGgo{(LONG + LONG)[:52]}", TOKEN]),
        (f"iVBORw0KGgo{(LONG + LONG)[:53]} {TOKEN}", [TOKEN]), (f"sha256-{LONG} {TOKEN}", [TOKEN]),
        (f"C:\\Temp\\{LONG[:40]}", [LONG[:40]]), (f"C:\\Temp\\{LONG[:39]} {TOKEN}", [TOKEN]),
        (f"-----BEGIN CERTIFICATE-----\n{LONG}\n-----END CERTIFICATE----- {TOKEN}", [TOKEN]),
        (f"-----BEGIN CERTIFICATE-----\n{LONG}", [LONG]),
        (f"-----BEGIN X-----\n{LONG}\n-----END X----- {TOKEN}", [LONG, TOKEN]),
        (f"{TOKEN} -----BEGIN PUBLIC KEY-----\n{LONG}\n-----END PUBLIC KEY-----"
         f" {TOKEN} -----BEGIN X509 CRL-----\n{LONG}\n-----END X509 CRL-----", [TOKEN, TOKEN]),
        ("/tmp/tmp.a8Kd93/run-Xk29QzLm4V/log", []), ("/tmp/tmp.a8Kd93xQ2L/build/password_test.log", []),
        (f"/tmp/tmp.a8Kd93/{TOKEN}/x", []), (f"C:\\Temp\\{TOKEN}", []), (f"/var/folders/4k/{TOKEN}/T/x", []),
        (f"TMPDIR=/tmp/{TOKEN}", []), (f"/tmp/x {TOKEN}", [TOKEN]), (f"/home/{TOKEN}/x", [TOKEN]),
        ("dist/assets/index-BkX3qT9z.js", []), ("css-1q2w3e4-MuiTypography-root", []),
        (f"-a/b/{LONG}", [LONG]), (f"/{TOKEN[:-1]}/x", []), (f"a/b/c/d/e/f/g/h/i/j/{LONG}", [LONG]),
)  # fmt: skip


def test_where_tokens_stand() -> None:
    for text, tokens in WHERE_TOKENS_STAND:
        assert found(text) == tokens


ID = "Xk3pQ9mZ7LtR2vWnB5cYd"  # 21 characters, as tools name folders
HEX = "5a1c9e7b2d4f6081a3c5e7f9b1d3f5"


SECRETS_IN_THE_PLACE_OF_A_PA = (
        (f"https://{ID}@github.com/u/r.git", ID), ("https://u:a8Kd93Qw@host/path", "a8Kd93Qw"),
        (f"https://api/token/ghp_{ID}{ID[:15]}/x", ID), (f"/reset/{LONG}", LONG), (f"config/keys/{LONG}/a", LONG),
        (f"/tmp/tmp.a8Kd93/sk-ant-api03-{LONG}", LONG), ("password=tmp.a8Kd93", "tmp.a8Kd93"),
        (f"/tmp/x/token={ID}", ID), (f"key {ID[:19]}/{ID}", ID), (f"key {ID}+/{ID}/{ID}", ID),
)  # fmt: skip


def test_secrets_in_the_place_of_a_path_are() -> None:
    for text, secret in SECRETS_IN_THE_PLACE_OF_A_PA:
        assert secret not in redact(text)[0]


def test_the_token_of_a_discord_bot() -> None:
    first, stamp, last = "M" + TOKEN[:23], "aB3dE6", "x" * 27
    assert find_random(f"is {first}.{stamp}.{last}, so", find_secrets) == [(3, 3 + 24 + 8 + 27, "discord-token")]
    for other in (f"A{first[1:]}.{stamp}.{last}", f"{first}.{stamp}.{last[1:]}", f"{first}.{stamp[1:]}.{last}"):
        assert "discord-token" not in [kind for _, _, kind in find_random(other, find_secrets)]


WHAT_IS_LEFT_OF_A_TEXT = (
        ("Cookie: sid=abcdef; lang=en", "Cookie: sid=[redacted:cookie]; lang=en"),
        ("Cookie: sid=abcde", "Cookie: sid=abcde"),
        ("Set-Cookie: csrf=abcdef\nsid=abcdef", "Set-Cookie: csrf=[redacted:cookie]\nsid=abcdef"),
        ('"set-cookie", "sid=abcdef"', '"set-cookie", "sid=[redacted:cookie]"'),
        ("cookie, sid=abcdef", "cookie, sid=abcdef"),
        ("a cookie and sid=abcdef", "a cookie and sid=abcdef"), ("Cookie: sid=changeme", "Cookie: sid=changeme"),
        ("Cookie: a=b\nCookie: sid=abcdef", "Cookie: a=b\nCookie: sid=[redacted:cookie]"),
        ("sshpass -phunter2x ssh h", "sshpass -p[redacted:password] ssh h"), ("make -phunter2x", "make -phunter2x"),
        ("curl -u ann:hunter2x https://h", "curl -u ann:[redacted:password] https://h"),
        ("a://ann:hunter2x@h/x", "a://ann:[redacted:url-password]@h/x"), ("a://ann:<word>@h", "a://ann:<word>@h"),
        ("-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"),
        ("x -----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY----- y", "x [redacted:private-key] y"),
        ("-----BEGIN PUBLIC KEY-----\nMIIabcdefgh\n-----END PUBLIC KEY-----", None),
)  # fmt: skip


def test_what_is_left_of_a_text() -> None:
    for text, shown in WHAT_IS_LEFT_OF_A_TEXT:
        assert redact(text)[0] == (text if shown is None else shown)


def test_every_key_of_a_file_is_found() -> None:
    head, body, foot = "-----BEGIN " + "PRIVATE KEY-----", f"\n{LONG}\n", "-----END " + "PRIVATE KEY-----"
    block = head + body + foot
    assert redact(f"a {block} b {head} c {block} d")[0] == (
        f"a [redacted:private-key] b {head} c [redacted:private-key] d"
    )
    assert redact(f"shop:x1y2z3@unix(/run/db)/shop {block}")[1] == ("url-password", "private-key")
