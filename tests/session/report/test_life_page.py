"""The pages of `session show --html` and `report --html`: one file without request or script, harmless throughout."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st
from lived_session import MEMORY, live
from test_one_way_out import ACTS, NASTY

from session.session_report import page, report_page, session_page

VOID = ("meta", "br")
ASKS = re.compile(r"(?:src|href|srcset|action|data|poster)\s*=|url\s*\(|@import|https?://", re.IGNORECASE)
HOSTILE = "".join(NASTY[name] for name in NASTY if name not in ("long", "surrogate", "nul"))
BREAKS_OUT = (
    "</p></pre></title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"
    "<a href='javascript:alert(1)'>x</a><!-- --><meta http-equiv=refresh content='0;url=http://evil.example'>"
)


class Read(HTMLParser):
    """What a browser makes of a page: its tags and attributes, its text; every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = set(
    "html head meta title style body main header h1 h2 p code dl div dt dd small section ol ul li b span i svg rect"
    " line circle polyline text time details summary pre table thead tbody tr th td footer".split()
)
ATTRIBUTES = set(
    "lang charset http-equiv content name class style open viewbox role aria-label x x1 x2 y y1 y2 cx cy r points width"
    " height text-anchor".split()
)


def harmless(html: str) -> Read:
    """The page as it is read, after what holds for every page."""
    read = Read(html)
    assert {tag for tag, _ in read.tags} <= ALLOWED
    names = {name for _, attributes in read.tags for name in attributes}
    assert names <= ATTRIBUTES
    markup = re.sub(r">[^<]*<", "><", html.replace(re.findall(r"<style>.*?</style>", html, re.S)[0], ""))
    style = re.findall(r"<style>(.*?)</style>", html, re.S)[0]
    assert not ASKS.search(markup) and not ASKS.search(style)
    policy = [one for tag, one in read.tags if one.get("http-equiv") == "Content-Security-Policy"]
    assert [one["content"] for one in policy] == [page.POLICY]
    assert page.POLICY.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not ACTS.search(html)
    return read


@pytest.fixture
def html(run: Run, tmp_path: Path) -> str:
    lived = live(run, tmp_path)
    return run("session", "show", SESSION, "--html", "--to", "-", env=lived.env()).out


def test_a_session_s_page_tells_what_the_command_tells(html: str) -> None:
    read = harmless(html)
    assert "Session 5a3e7c11" in read.text
    assert MEMORY in read.text and "## Session Recovery" in read.text
    assert "then mend the retry of the receipts, please" in read.text
    for word in ("warm from 47 % on", "the summary has 24 characters", "What the hooks cost", "PreCompact", "echo"):
        assert word in read.text
    assert sum(tag == "svg" for tag, _ in read.tags) == 1
    assert any(one.get("class") == "compaction" for tag, one in read.tags if tag == "line")


def test_a_page_is_light_and_dark_and_fits_a_telephone(html: str) -> None:
    assert "@media (prefers-color-scheme: dark)" in html
    assert 'name="viewport" content="width=device-width' in html
    style = re.findall(r"<style>(.*?)</style>", html, re.S)[0]
    light, dark = style.split("@media (prefers-color-scheme: dark)", 1)
    named = set(re.findall(r"var\((--[\w-]+)\)", style))
    declared = set(re.findall(r"(--[\w-]+):", light))
    assert named <= declared
    assert declared == set(re.findall(r"(--[\w-]+):", dark)), "every colour has a dark one"


def test_the_page_is_a_file_that_only_its_owner_reads(run: Run, tmp_path: Path) -> None:
    run("checkpoint", "save", "--session", "s-1", "--percent", "45", "-m", "label the jars")
    result = run("session", "show", "s-1", "--html").result
    path = tmp_path / "joelclaw-session-s-1.html"
    assert result == {"file": str(path), "bytes": path.stat().st_size}
    assert path.stat().st_mode & 0o777 == 0o600
    harmless(path.read_text())
    path.chmod(0o644)
    assert run("session", "show", "s-1", "--to", str(path)).result["file"] == str(path), "--to alone will do"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.glob("*.tmp")] == []
    assert run("report", "--html").result["file"] == str(tmp_path / "joelclaw-report.html")


@pytest.mark.parametrize("where", ["no/such/folder/page.html", ".", "link"])
def test_where_it_cannot_be_written_it_says_so_and_nothing_changes(run: Run, tmp_path: Path, where: str) -> None:
    run("checkpoint", "save", "--session", "s-1", "--percent", "45", "-m", "label the jars")
    target = tmp_path / "target"
    target.write_text("as it was")
    (tmp_path / "link").symlink_to(target)
    failed = run("session", "show", "s-1", "--html", "--to", where, ok=False).json
    assert failed["error"]["code"] == "PAGE_NOT_WRITTEN"
    assert failed["fix"]
    assert target.read_text() == "as it was"


def test_a_hostile_session_has_a_harmless_page(run: Run, tmp_path: Path) -> None:
    nasty = BREAKS_OUT + HOSTILE
    session = "x-" + BREAKS_OUT[:40]
    env = {"JOELCLAW_NOW_MS": "1790000000000"}
    payload = {"session_id": session, "cwd": f"/w/{BREAKS_OUT[:30]}", "source": nasty, "prompt": nasty}
    run("hook", "claude", stdin=json.dumps({**payload, "hook_event_name": "SessionStart"}), env=env)
    run("hook", "claude", stdin=json.dumps({**payload, "hook_event_name": "UserPromptSubmit"}), env=env)
    run("checkpoint", "save", "--session", session, "--percent", "70", "-m", nasty, "--file", nasty[:200], env=env)
    run("checkpoint", "flush", "--session", session, "--percent", "80", env=env)
    run("inject", "recovery", "--session", session, env=env)
    event = {
        "action": nasty, "component": nasty, "source": nasty, "level": "error", "error": nasty, "sessionId": session,
        "metadata": {nasty: nasty, "query": nasty},
    }  # fmt: skip
    run("otel", "emit", "--stdin", stdin=json.dumps(event), env=env)
    late = {**event, "action": "hook.timeout", "component": "hook", "metadata": {"agent": nasty, "event": nasty}}
    run("otel", "emit", "--stdin", stdin=json.dumps(late), env=env)
    html = run("session", "show", session, "--html", "--to", "-", env=env).out
    read = harmless(html)
    assert "alert(1)" in read.text, "it is shown as text"
    harmless(run("report", "--html", "--to", "-", env=env).out)


TEXTS = st.text(st.sampled_from(sorted(set(HOSTILE + BREAKS_OUT + "aé日 \n"))), max_size=60) | st.sampled_from(
    [BREAKS_OUT, *(text for name, text in NASTY.items() if name not in ("long", "surrogate"))]
)


@given(TEXTS, TEXTS, TEXTS)
def test_whatever_stands_in_a_record_the_page_is_harmless(one: str, two: str, three: str) -> None:
    moment: Any = {
        "at": "2026-09-20T10:00:00.000Z", "kind": "injection", "text": one, "customType": two, "content": three,
        "tokens": 3, "ms": 1.0, "memories": [{"id": two, "text": one, "outcome": three}],
    }  # fmt: skip
    turn: Any = {
        "number": 1, "at": one, "seconds": 3.0, "prompt": two, "contextPercent": 45.0, "zone": three, "toolCalls": 1,
        "failedCalls": 0, "hooks": 2, "hookMs": 5.0, "moments": [moment, {**moment, "kind": "error", "at": two}],
    }  # fmt: skip
    cost: Any = {"count": 1, "totalMs": 1.0, "p50": 1.0, "p95": 1.0, "max": 1.0}
    life: Any = {
        "sessionId": one, "client": two, "role": three, "project": one, "folder": two, "startedAt": one,
        "updatedAt": three, "task": two, "contextPercent": 45.0, "zone": one, "warmPercent": 40.0, "hotPercent": 60.0,
        "turnCount": 1, "toolCalls": 1, "failedCalls": 0, "compactions": 0, "recalls": 0,
        "injections": {"count": 1, "tokens": 3, "chars": 3},
        "memories": {"injected": 1, "echo": 0, "fizzle": 0, "open": 1},
        "hooks": cost, "hooksByEvent": [{**cost, "event": three, "notOk": 1}], "problem": one, "turns": [turn],
        "context": [{"turn": 1, "at": two, "percent": 40.0}, {"turn": 1, "at": three, "percent": 41.0}],
    }  # fmt: skip
    harmless(session_page.of(life))
    row = {**cost, "client": one, "event": two, "degraded": 1, "failed": 0, "late": 0}
    kind = {"customType": one, "count": 1, "memories": 0, "tokens": 2}
    error = {"at": one, "component": two, "action": three, "error": one, "count": 1}
    report: Any = {
        "hours": 24, "since": one, "computedAt": two, "leastCounted": 5, "sessions": 1, "compactions": 0,
        "hooks": {**cost, "ok": 1, "degraded": 0, "failed": 0, "late": 0, "answeredRate": None, "byEvent": [row]},
        "recalls": {**cost, "withHits": 0, "hitRate": None}, "feedback": {"judged": 0, "echo": 0, "echoRate": None},
        "injections": {"count": 1, "tokens": 2, "byType": [kind]},
        "errors": {"total": 1, "latest": [error]},
    }  # fmt: skip
    harmless(report_page.of(report))
