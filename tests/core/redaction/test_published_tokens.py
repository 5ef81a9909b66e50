"""What looks like a secret and is there to be shown stays readable, and a secret of the same form does not."""

from __future__ import annotations

import base64

import pytest

from core.redaction import redact
from core.redaction.published import is_mapped, is_port, is_published, is_stored_path, is_version

WORDS = base64.b64encode(b"this is a test of the Emergency System 12").decode()
OBJECT = base64.b64encode(b'{"user": "ann", "page": 3, "Items": [1, 2]}').decode()
TOLD = base64.b64encode(b"the password of ann: Kiw1fru1t99 and so on").decode()
ALONE = base64.b64encode(b"Xk29vbQp77zTLm40Rw8yNc").decode()
ADDRESS = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
IPFS = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
SHEET = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"
POINT = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEm1mHlN8mH1Jr0X0Qz0Y1kXQ7mZr3vT8pW2nL5sC6dA"
PUSH = "BEl62iUYgUivxIkv69yViEuiBIa-Ib9-SkvMeAtA3LFgDzkrxZJjSgSnfckjBJuBkr3qBUYIHBQFLXYp5Nksh8U"


@pytest.mark.parametrize(
    "text",
    [
        "podman run mysql -p8080", "docker run --name mysql -p3306:3306 -d mysql:8", "cd mysql; make -phunter22 x1",
        "S3_KEY=uploads/2026/11/20/IMG_1234.jpg",
        "NEXT_PUBLIC_STRIPE_KEY=pk_" + "live_51H8xT2KjQpZ9vN4w", 'auth: "oauth2-proxy-v7.6.0"',
        "renamed to passphrase_v2",
        "set the password field to nullable2", "token is now base64url-v2 encoded", "http://localhost:8080@2x.png",
        "git clone ssh://git:22@x.com", "login password page2",
        f"wallet {ADDRESS}", f"token: {ADDRESS}", f"const TOKEN = '{ADDRESS}'", f"TOKEN_ADDRESS={ADDRESS}",
        "pay to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "pay 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", IPFS, f"/ipfs/{IPFS}/a",
        f"sheet {SHEET}", f"SPREADSHEET_ID={SHEET}", "script-src 'nonce-rAnd0m4bC9dEfGh1JkLmNoPq'",
        f"PUBLIC_KEY={POINT}",
        f"the key {POINT} is", f"VAPID_PUBLIC_KEY={PUSH}", "_ZN4core3fmt9Formatter12pad_integral17h1a2B3c4D5e6F7a8bE",
        "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0c1f7a4f5a6b7c8dE", f'expected = "{WORDS}"',
        f"echo '{OBJECT}' | base64 -d",
    ],
)  # fmt: skip
def test_what_is_public_stays(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -p«hunter22» x", "mysqldump -p«12345678» x", 'docker exec db sh -c "mysql -p«hunter22»"',
        "[reason=mysql -u root -p«hunter22» shop]",
        "cd x && /usr/bin/mysqladmin -p«hunter22» status", "sshpass -p«12345» ssh h",
        'x\\nmysql -p«hunter22»\\n', "S3_KEY=«uP10ads/2026z11Kq20IMG1234jpg»",
        "STRIPE_KEY=«ab66688726a47aaa641fd6c1ad9587b0/a.py»", 'auth: "«dXNlcjpodW50ZXIyMmh1bnRlcg==»"',
        "the password is «page-hunter22»", "http://ann:«8080@2»@x.png", "ssh://ann:«22»@x.com", "redis://:«8080»@h",
        "PRIVATE_KEY=«0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318»",
 f"the token «{PUSH}» is", f"the id «{SHEET}» is",
        f'token = "«{WORDS}»"', f"API_KEY=«{WORDS}»", f"expected = «{TOLD.rstrip('=')}»",
        f"expected = «{ALONE.rstrip('=')}»",
    ],
)  # fmt: skip
def test_what_is_written_like_it_and_secret_does_not(text: str) -> None:
    parts = text.replace("»", "«").split("«")
    clean, kinds = redact("".join(parts))
    assert parts[1] not in clean and len(kinds) == 1
    assert clean.startswith(parts[0]) and redact(clean) == (clean, ())


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a/b.py", True), ("a/b", False), ("b.py", False), ("/b.py", False), ("a/b.p", False), ("a/b.pyx12", True),
        ("a/b.pyx123", False), ("a/b.p-y", False), ("abcdefgh12345678/b.py", False), ("a/abcdefgh12345678/b.py", True),
        ("abcdefgh-12345678/b.py", True),
    ],
)  # fmt: skip
def test_the_path_of_a_stored_file(value: str, stored: bool) -> None:
    assert is_stored_path(value) is stored


@pytest.mark.parametrize(
    ("value", "version"),
    [("x-v7.6.0", True), ("x:7.6", True), ("v7.6", True), ("x-7", False), ("x-v7.6.a", False), ("7.6-x", False)],
)
def test_a_version(value: str, version: bool) -> None:
    assert is_version(value) is version


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("ssh://git:«22»@h", True), ("git://git:«22»@h", True), ("ssh://ann:«22»@h", False),
        ("http://localhost:«8080»@h", True), ("http://localhost:«80801»@h", True),
        ("http://localhost:«808012»@h", False), ("http://localhost:«808a»@h", False), ("x://127.0.0.1:«80»@h", True),
        ("http://h:«8080»@2x.png", True), ("http://h:«8080»@x2.png", False), ("http://h:«8080»@2y.png", False),
        ("http://h:«8080»@22x.png", False),
    ],
)  # fmt: skip
def test_a_port_behind_an_address(text: str, port: bool) -> None:
    head, value, rest = text.replace("»", "«").split("«")
    assert is_port(head + value + rest, len(head), len(head) + len(value)) is port


@pytest.mark.parametrize(
    ("value", "mapped"),
    [
        ("8080", True), ("3306:3306", True), ("127.0.0.1:53:53/udp", True), ("12345", True), ("123456", False),
        ("123456:80", True), ("80-90:80", True), ("80a", False), ("80:a", False), ("a:80", False),
    ],
)  # fmt: skip
def test_ports_that_are_mapped(value: str, mapped: bool) -> None:
    assert is_mapped(value) is mapped


def encoded(plain: bytes) -> str:
    return base64.b64encode(plain).decode()


@pytest.mark.parametrize(
    ("before", "word", "shown"),
    [
        ("", encoded(b"ab cd ef ghi"), True), ("", encoded(b"ab cd ef gh"), False), ("", encoded(b"a" * 20), False),
        ("", encoded(b"ab cd ef gh\x00"), False), ("", encoded(b"ab\tcd\nef\rgh ij"), True),
        ("", encoded("ab cd ef gä hij".encode()), False), ("", encoded(b"ab cd ef ghi")[:-3], False),
        ("", encoded(b"ab c?>~~ef ghij").replace("+", "-").replace("/", "_"), True),
        ("", encoded(b"ab " * 1024), True), ("", encoded(b"ab " * 1025), False),
        ("doc" + " " * 61, SHEET, True), ("doc" + " " * 62, SHEET, False), ("key ", SHEET, False),
        ("doc ", SHEET[:33], True), ("doc ", SHEET[:34], False), ("doc ", SHEET[:43], False),
        ("doc ", "2" + SHEET[1:], False), ("doc ", "0" + SHEET[1:], True),
        ("", IPFS, True), ("", IPFS[:-1], False), ("", IPFS[:-1] + "0", False), ("", "Xm" + IPFS[2:], False),
        ("public_key = '", "x" * 20, True), ("public_key is ", "x" * 20, False), ("", "--nonce-x", True),
    ],
)  # fmt: skip
def test_what_is_public_by_its_form_or_by_what_stands_before(before: str, word: str, shown: bool) -> None:
    assert is_published(f"{before}{word} x", len(before), len(before) + len(word)) is shown
