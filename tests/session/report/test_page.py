"""The pages of `session show --html` and `report --html`: one file without request or script, harmless throughout."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from claude_transcript import SESSION
from conftest import Run
from lived_session import MEMORY, live
from terminal import on_terminal
from test_one_way_out import ACTS, NASTY

from cli.session_report.view import POLICY

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


ALLOWED = set("html head meta title style body pre code span".split())
ATTRIBUTES = set("charset http-equiv content class style".split())


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
    assert [one["content"] for one in policy] == [POLICY]
    assert POLICY.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not ACTS.search(html)
    return read


@pytest.fixture
def html(run: Run, tmp_path: Path) -> str:
    lived = live(run, tmp_path)
    return run("session", "show", SESSION, "--html", "--to", "-", env=lived.env()).out


def test_a_session_s_page_tells_what_the_command_tells(html: str) -> None:
    read = harmless(html)
    assert f"Session {SESSION}" in read.text
    assert MEMORY in read.text and "Session Recovery" in read.text
    assert "then mend the retry of the receipts, please" in read.text
    for word in ("warm from 47 % on", "the summary has 24 characters", "median", "PreCompact", "used", "context  ▃▄▆"):
        assert word in read.text
    assert "--full" not in read.text, "the page has all of it"


def test_the_page_is_a_file_that_only_its_owner_reads(run: Run, tmp_path: Path) -> None:
    run("checkpoint", "save", "--session", "s-1", "--percent", "45", "-m", "label the jars")
    result = run("session", "show", "s-1", "--html").result
    path = Path(result["file"])
    assert result == {"file": str(path), "bytes": path.stat().st_size, "opened": False}
    assert (path.name, path.is_relative_to(tmp_path / "home")) == ("joelclaw-session-s-1.html", False)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    harmless(path.read_text())
    path.chmod(0o644)
    assert run("session", "show", "s-1", "--to", str(path)).result["file"] == str(path), "--to alone will do"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.glob("*.tmp")] == []
    assert run("report", "--html").result["file"].endswith("/joelclaw-report.html")
    assert not list(tmp_path.glob("*.html")), "nothing is left in the current folder"


@pytest.mark.spawned  # where files are made for a moment, and which browser is meant, Python finds out once
def test_on_a_terminal_with_a_screen_the_page_is_opened(run: Run, home: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    env = {"BROWSER": str(browser), "DISPLAY": ":9", "TMPDIR": str(tmp_path)}
    shown = on_terminal(home, "report", "--html", env=env, columns=300).out
    (page,) = tmp_path.glob("joelclaw-*/joelclaw-report.html")
    assert str(page) in shown
    assert (tmp_path / "opened").read_text() == f"file://{page}\n"


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
