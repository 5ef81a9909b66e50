"""Any string is a query, and words of developers' texts are found whole and by their parts."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW, PATIENCE_S, attempt, clean_environment
from faults import SLOWEST_S
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

FILLER = [
    f"{who} {did} the {what} of {where} {when}"
    for who in ("Anna", "The platform team", "A contractor", "Support")
    for did in ("reviewed", "rewrote", "measured")
    for what in ("dashboard", "invoice layout", "onboarding guide")
    for where, when in (("marketing", "in spring"), ("finance", "last week"))
]
# What is stored, and the queries that must find it.
FINDABLE: dict[str, tuple[str, ...]] = {
    "The worker died with ECONNREFUSED after the proxy was moved": ("ECONNREFUSED", "econnrefused", '"ECONNREFUSED"'),
    "Hooks were skipped with --no-verify during the release": ("--no-verify", "no-verify", "git commit --no-verify"),
    "Look at packages/cli/src/foo.ts before touching the loader": (
        "packages/cli/src/foo.ts", "foo.ts", "foo", "packages/cli", "cli", "src/foo.ts", "./packages/cli/src/foo.ts:12",
    ),
    "Decided in ADR-0203 how a session survives": ("ADR-0203", "0203", "adr", "adr 0203", "ADR0203"),
    "Call getUserName once per request and keep it": ("getUserName", "user name", "username",
    "getusername", "get_user_name"),
    "The flag snake_case_name turns the cache off": ("snake_case_name", "snake", "case_name", "snakeCaseName"),
    "Replace HTTPServer2 by the async one": ("HTTPServer2", "http server", "server", "httpserver2", "HTTPServer"),
    "Pinned to v1.2.3 since later ones crash": ("v1.2.3", "1.2.3"),
    "Publish @scope/pkg from the tools folder": ("@scope/pkg", "scope/pkg", "@scope"),
    "The parser is written in C++ and wrapped": ("C++", "c++"),
    "Never read .env at import time of the module": (".env", "env"),
    "数据库连接池在凌晨三点重启": ("数据库", "连接池", "凌晨", "据库连"),
    "ユーザー認証はトークンで行う": ("トークン", "認証"),
    "사용자인증 토큰을 갱신한다": ("토큰을",),
    "קובץ ההגדרות נמצא בתיקייה": ("ההגדרות",),
    "Die Größe der Übertragung ist begrenzt": ("größe", "GRÖSSE DER ÜBERTRAGUNG", "ubertragung"),
    "检查tide_import模块的缓存": ("tide_import",),
    "リトライはAPI側で三回までにする": ("API側",),
    "Сообщения теряются при сбое сети": ("сообщение теряется", "сообщением"),
    "Ветку удаляют после слияния": ("ветки",),
    "Расчёт ведёт новый учётчик": ("учетчик", "ещё учётчик"),
    "Der Wiederholungszähler beginnt bei null": ("Zähler", "Wiederholungen", "Wiederholungszaehler"),
    "Die Straße heißt im Modul Gasse": ("Strasse",),
    "Łukasiewicz writes operators in front": ("Lukasiewicz", "ŁUKASIEWICZ"),
    "The notation of Lukasiewicz needs no brackets": ("Łukasiewicz",),
    "Søren holds the key of the Ærø ferry": ("Soren", "aero", "sören"),
    "Las migraciones corren antes del despliegue": ("migración",),
    "Tabloların yedeği gece alınır": ("tablolarda",),
    "İstanbul sunucusu yavaş": ("İstanbul", "istanbul"),
    "Ship it 🚀 only after 🧪 is green": ("ship it green",),
    "Exit code 0xDEADBEEF means the watchdog fired": ("0xDEADBEEF", "deadbeef"),
    "Set NODE_OPTIONS=--max-old-space-size=4096 for the bundler": ("NODE_OPTIONS", "max-old-space-size",
    "4096", "--max-old-space-size"),
    "TypeError: Cannot read properties of undefined (reading 'map')": ("TypeError", "reading 'map'",
    "cannot read properties of undefined"),
    "std::vector<int>::push_back invalidates iterators": ("std::vector", "push_back", "vector"),
    "Ports 8108/tcp and 9200 are closed on kestrel.internal": ("8108", "kestrel.internal", "kestrel", "9200"),
    "SIGTERM reaches the child through tini": ("SIGTERM", "tini"),
    "Use the endpoint POST /v2/users/:id/roles for that": ("/v2/users", "/v2/users/:id/roles", "roles"),
}  # fmt: skip
ODD = (
    '"', "'", '""', '"""', "'''", "*", "a*", "^a", "a NEAR b", "NEAR(a b, 3)", "a AND", "OR", "NOT",
    "NOT a", "AND OR NOT", "(", ")",
    "((a)", "a:b", "text:a", "{text} : a", "-a", "--", "+", "a + b", "%", "_", "\\", "\\0", "a\\", ";",
    "'; DROP TABLE document; --", "?1",
    ":a", "@a", "$a", "[", "]", "{", "}", "{}", "[]", "|", "||", "&", "<", ">", "!", "~", "`", "#", ",",
    ".", "..", "...", "/", "//",
    "the", "the of and", "🚀", "👩‍👩‍👧‍👦", "e\u0301", "\u200b", "\u202eabc", "\ufeff", "\ufffd", "İ", "ß",
    "ﬁ", "٣", "一", "数据库", "ภาษาไทย", "שלום",
    "مرحبا", "a" * 5000, "a " * 5000, "\t", "x\ty", "\x01", "\x1b[31mred\x1b[0m", "NaN", "-1", "1e999",
    "null", "true", "0", "\x7f",
    "why " * 300, '"a b" OR c', 'a"b', "a''b", "-- -n 5", "𝕏", "a\u0000b", "\u2028", "\x85", "\x0c",
    "ǅ", "x" + "\u0301" * 200,
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds every findable text among others."""
    home = tmp_path_factory.mktemp("queries") / "home"
    lines = [json.dumps({"id": f"f{n}", "text": text}) for n, text in enumerate([*FINDABLE, *FILLER])]
    done = attempt(home, "memory", "import", "-", stdin="\n".join(lines).encode(), env=NOW)
    assert done.result["added"] == len(lines), done.result
    return home


def batch(home: Path, queries: list[str], *words: str) -> list[dict[str, Any]]:
    """The results of many queries of one line each, from one process."""
    data = "\n".join(queries).encode("utf-8", "surrogateescape")
    done = attempt(home, "recall", "--batch", "-", *words, stdin=data, env=NOW, timeout=PATIENCE_S)
    assert (done.code, done.err) == (0, ""), done
    answers = [json.loads(line) for line in done.out.split("\n")[:-1]]
    assert all(answer["ok"] is True and answer["command"] == "joelclaw recall" for answer in answers)
    return [answer["result"] for answer in answers]


@pytest.mark.parametrize("budget", ["auto", "lean"])
def test_a_word_is_found_by_itself_and_by_its_parts(filled: Path, budget: str) -> None:
    expected = [(text, query) for text, queries in FINDABLE.items() for query in queries]
    answers = batch(filled, [query for _, query in expected], "--budget", budget)
    missed = [
        (query, [hit["observation"] for hit in answer["hits"]][:2])
        for (text, query), answer in zip(expected, answers, strict=True)
        if text not in [hit["observation"] for hit in answer["hits"]]
    ]
    assert missed == []


@pytest.mark.parametrize("text", FINDABLE)
def test_it_can_be_recalled_when_the_write_returns(home: Path, text: str) -> None:
    written = attempt(home, "memory", "write", "--", text).result
    hits = attempt(home, "recall", "--include-hold", "--include-discard", "--", FINDABLE[text][0]).result["hits"]
    assert [hit["id"] for hit in hits] == [written["id"]]


def test_odd_queries(filled: Path) -> None:
    lines = [query for query in ODD if query.strip() and not set(query) & set("\n\r")]
    answers = batch(filled, lines)
    assert [answer["query"] for answer in answers] == lines
    for answer in answers:
        assert answer["count"] == len(answer["hits"]) <= 5
        assert all(0 <= hit["score"] <= 1 for hit in answer["hits"])


SLOW = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=15
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])).map(str.encode)
LINES = st.one_of(TEXTS, st.binary(max_size=60)).map(lambda line: line.replace(b"\n", b" ").replace(b"\r", b" "))


@SLOW
@given(st.lists(LINES, min_size=40, max_size=60))
def test_any_bytes_are_queries(filled: Path, queries: list[bytes]) -> None:
    done = attempt(filled, "recall", "--batch", "-", stdin=b"\n".join(queries), env=NOW)
    assert (done.code, done.err) == (0, ""), done
    texts = [query.decode("utf-8", "replace") for query in queries]
    answered = [json.loads(line)["result"]["query"] for line in done.out.split("\n")[:-1]]
    assert answered == [text for text in texts if text.strip()]


@SLOW
@given(st.binary(min_size=0, max_size=200).filter(lambda data: b"\0" not in data))
@example(b"")
@example(b"\xff\xfe")
@example(b"a\nb\r\nc")
@example(b"\xed\xa0\x80 lone surrogate")
@example("数据库 🚀".encode())
@example(b"--- \x80")
def test_any_word_of_argv_is_a_query(filled: Path, query: bytes) -> None:
    done = subprocess.run(
        [os.fsencode(JOELCLAW), b"recall", b"--", query],
        capture_output=True, env=clean_environment(filled, **NOW), stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b""), done
    envelope = json.loads(done.stdout.decode())
    assert envelope["ok"] is True
    assert envelope["result"]["query"] == query.decode("utf-8", "replace")


@pytest.mark.parametrize("unit", ["x", "word ", "getUserName/", "数据", '" OR ', "é"])
def test_a_hundred_kilobytes(filled: Path, unit: str) -> None:
    query = (unit * 100_000)[: 100_000 // len(unit.encode()) * len(unit)]
    query = query.encode()[:100_000].decode("utf-8", "ignore")
    done = attempt(filled, "recall", "--", query, env=NOW)
    assert done.result["query"] == query
    assert done.took_s < SLOWEST_S
    assert batch(filled, [query])[0]["count"] == done.result["count"]
