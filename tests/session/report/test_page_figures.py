"""What a session's page and the report's say of a figure: its unit, its plural, its dash where nothing is known."""

from __future__ import annotations

import re
from typing import Any

import pytest

from session.session_report import page, report_page, session_page

COST: dict[str, Any] = {"count": 2, "totalMs": 30.0, "p50": 10.0, "p95": 20.0, "max": 20.0}
NONE: dict[str, Any] = {"count": 0, "totalMs": 0.0, "p50": None, "p95": None, "max": None}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "–"), (0.0, "0.0 ms"), (7.44, "7.4 ms"), (9.94, "9.9 ms"), (10.0, "10 ms"), (230.4, "230 ms"),
        (999.0, "999 ms"), (1000.0, "1.0 s"), (2_149.0, "2.1 s"), (1_234_567.0, "1,234.6 s"),
    ],
)  # fmt: skip
def test_a_duration_has_the_unit_of_its_size(value: float | None, told: str) -> None:
    assert page.ms(value) == told


@pytest.mark.parametrize(("value", "told"), [(None, "not enough yet"), (0.0, "0 %"), (0.954, "95 %"), (1.0, "100 %")])
def test_a_share_is_in_percent(value: float | None, told: str) -> None:
    assert page.share(value) == told


def test_a_time_is_shown_to_the_second_and_an_unknown_one_as_a_dash() -> None:
    assert page.when("2026-09-20T10:01:02.345Z") == "2026-09-20 10:01:02"
    assert page.clock_time("2026-09-20T10:01:02.345Z") == "10:01:02"
    assert page.when("unknown") == page.when("") == page.clock_time("unknown") == "–"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0, "0 s"), (40.4, "40 s"), (89.4, "89 s"), (90.0, "2 min"), (150.1, "3 min"), (5369.0, "89 min"),
        (5400.0, "1 h 30 min"), (11_100.0, "3 h 5 min"), (7_200.0, "2 h 0 min"),
    ],
)  # fmt: skip
def test_how_long_a_turn_took_is_told_in_two_units_at_most(seconds: float, told: str) -> None:
    assert session_page.duration(seconds) == told


def test_the_columns_after_the_texts_are_numbers() -> None:
    assert page.table(("a", "b"), [("x", "1"), ("y", "2")]) == (
        '<div class="card scroll"><table><thead><tr><th>a</th><th class="n">b</th></tr></thead><tbody>'
        '<tr><td>x</td><td class="n">1</td></tr><tr><td>y</td><td class="n">2</td></tr></tbody></table></div>'
    )
    assert 'class="n"' not in page.table(("a", "b"), [("x", "1")], texts=2)
    assert page.table(("a", "b"), []) == ""


def test_a_tile_says_what_its_figure_is_made_of_where_there_is_something() -> None:
    assert page.tiles([("turns", "3", ""), ("calls", "4", "1 failed")]) == (
        '<dl class="tiles"><div><dt>turns</dt><dd>3</dd></div>'
        "<div><dt>calls</dt><dd>4<small>1 failed</small></dd></div></dl>"
    )


def turn(**more: Any) -> dict[str, Any]:
    return {
        "number": 1, "at": "2026-09-20T10:00:00.000Z", "seconds": None, "prompt": "label the jars",
        "contextPercent": None, "zone": "", "toolCalls": 0, "failedCalls": 0, "hooks": 0, "hookMs": 0.0,
        "moments": [], **more,
    }  # fmt: skip


def life(**more: Any) -> Any:
    return {
        "sessionId": "s-1", "client": "pi", "role": "", "project": "shop", "folder": "", "startedAt": "unknown",
        "updatedAt": "unknown", "task": "", "contextPercent": None, "zone": "", "warmPercent": 40.0,
        "hotPercent": 60.0, "turnCount": 0, "toolCalls": 0, "failedCalls": 0, "compactions": 0, "recalls": 0,
        "injections": {"count": 0, "tokens": 0, "chars": 0},
        "memories": {"injected": 0, "echo": 0, "fizzle": 0, "open": 0},
        "hooks": NONE, "hooksByEvent": [], "problem": "", "turns": [], "context": [], **more,
    }  # fmt: skip


def tiles(html: str) -> dict[str, tuple[str, str]]:
    found = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)(?:<small>(.*?)</small>)?</dd></div>", html)
    return {name: (figure, made_of) for name, figure, made_of in found}


def test_the_tiles_of_a_session_of_which_nothing_is_known() -> None:
    html = session_page.of(life())
    assert tiles(html) == {
        "turns": ("0", ""), "tool calls": ("0", ""), "compactions": ("0", ""), "context now": ("–", ""),
        "injected": ("0", "0 tokens, estimated"), "memories handed out": ("0", ""),
        "recalls": ("0", "by the agent and for its task"), "hooks": ("0", "– median, 0.0 ms together"),
    }  # fmt: skip
    assert "No turn is known." in html and "What the hooks cost" not in html and "<svg" not in html
    assert '<p class="task">' not in html and '<p class="hot">' not in html


def test_the_tiles_of_a_full_session() -> None:
    html = session_page.of(life(
        turnCount=1234, toolCalls=2345, failedCalls=1, compactions=3, contextPercent=61.6, zone="hot", recalls=4,
        injections={"count": 5, "tokens": 6789, "chars": 1}, hooks=COST, task="the task", problem="the problem",
        memories={"injected": 7, "echo": 1, "fizzle": 2, "open": 4},
        hooksByEvent=[{**COST, "event": "Stop", "notOk": 0}, {**COST, "event": "", "notOk": 1, "max": 2000.0}],
    ))  # fmt: skip
    assert tiles(html) == {
        "turns": ("1,234", ""), "tool calls": ("2,345", "1 failed"), "compactions": ("3", ""),
        "context now": ('<span class="hot">62 %</span>', "hot"), "injected": ("5", "6,789 tokens, estimated"),
        "memories handed out": ("7", "1 used, 2 not, 4 open"), "recalls": ("4", "by the agent and for its task"),
        "hooks": ("2", "10 ms median, 30 ms together"),
    }  # fmt: skip
    assert '<p class="task">the task</p>' in html and '<p class="hot">the problem</p>' in html
    assert "<h2>What the hooks cost</h2>" in html
    assert re.findall(r"<tr><td>(.*?)</tr>", html) == [
        'Stop</td><td class="n">2</td><td class="n">10 ms</td><td class="n">20 ms</td><td class="n">20 ms</td>'
        '<td class="n">30 ms</td><td class="n">–</td>',
        'not read</td><td class="n">2</td><td class="n">10 ms</td><td class="n">20 ms</td><td class="n">2.0 s</td>'
        '<td class="n">30 ms</td><td class="n">1</td>',
    ]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("5a3e7c11-0000-4000-8000-000000000000", "5a3e7c11"),
        ("5a3e7c11-0000-4000-8000-00000000000", "5a3e7c11-0000-4000-8000-00000000000"),
        ("5a3e7c11-0000-4000-8000000000000-xxx", "5a3e7c11"),
        ("5a3e7c1100000-4000-8000000000000xxxx", "5a3e7c1100000-4000-8000000000000xxxx"),
        ("x" * 61, "x" * 60),
    ],
)
def test_a_long_id_is_shortened_in_the_heading(name: str, short: str) -> None:
    assert f"<h1>Session {short}</h1>" in session_page.of(life(sessionId=name))


@pytest.mark.parametrize(
    ("client", "project", "shown"),
    [("pi", "shop", "pi · shop · "), ("", "shop", "shop · "), ("pi", "", "pi · "), ("", "", "")],
)
def test_the_heading_says_the_client_and_the_project_that_are_known(client: str, project: str, shown: str) -> None:
    assert f'<p class="soft">{shown}<code>s-1</code></p>' in session_page.of(life(client=client, project=project))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"toolCalls": 1, "failedCalls": 1, "hooks": 1, "hookMs": 2.0, "seconds": 3.0},
         "1 tool call, 1 failed · 1 hook, 2.0 ms · 3 s"),
        ({"toolCalls": 1200, "hooks": 2, "hookMs": 20.0, "seconds": 0.0}, "1,200 tool calls · 2 hooks, 20 ms"),
        ({"contextPercent": 45.6, "zone": "warm"},
         '<span class="nowrap"><span class="gauge warm"><i style="width:46%"></i></span>'
         '<span class="warm">46 %</span></span>'),
        ({"contextPercent": 101.0, "zone": "x"},
         '<span class="nowrap"><span class="gauge "><i style="width:100%"></i></span>'
         '<span class="">101 %</span></span>'),
        ({"contextPercent": 0.0},
         '<span class="nowrap"><span class="gauge "><i style="width:0%"></i></span><span class="">0 %</span></span>'),
    ],
)  # fmt: skip
def test_below_a_turn_stands_what_it_took(more: Any, told: str) -> None:
    html = session_page.of(life(turns=[turn(**more)]))
    assert re.findall(r'<p class="meta">(.*?)</p>', html) == [told]


@pytest.mark.parametrize(
    ("number", "prompt", "who", "said"),
    [
        (0, "", "before", '<p class="said soft">before the first prompt</p>'),
        (1, "", "1", '<p class="said soft">prompt not archived</p>'),
        (2, "hi", "2", '<p class="said">hi</p>'),
    ],
)
def test_a_turn_without_its_prompt_says_why(number: int, prompt: str, who: str, said: str) -> None:
    html = session_page.of(life(turns=[turn(number=number, prompt=prompt)]))
    assert f'<div class="who"><b>{who}</b>10:00:00</div><div>{said}' in html
    assert '<ul class="moments">' not in html and "No turn is known." not in html


def moment(**more: Any) -> str:
    one = {"at": "2026-09-20T10:00:01.000Z", "kind": "injection", "text": "Memory", **more}
    html = session_page.of(life(turns=[turn(moments=[one])]))
    (found,) = re.findall(r'<ul class="moments">(.*?)</ul></div></li>', html, re.S)
    return str(found)


def test_a_moment_says_its_kind_its_text_and_its_time() -> None:
    assert moment() == (
        '<li class="moment k-injection"><span class="kind">injection</span><div><p>Memory<time>10:00:01</time></p>'
        "</div></li>"
    )


@pytest.mark.parametrize(
    ("more", "behind"),
    [
        ({"customType": "memory-recall", "tokens": 1200, "ms": 0.0}, "(memory-recall, 1,200 tokens, 0.0 ms)"),
        ({"tokens": 0, "ms": 12.0}, "(12 ms)"),
    ],
)
def test_behind_a_moment_stands_what_it_cost(more: Any, behind: str) -> None:
    assert f'<p>Memory <span class="soft">{behind}</span><time>' in moment(**more)


@pytest.mark.parametrize(("lines", "tag"), [(1, "<details open>"), (60, "<details open>"), (61, "<details>")])
def test_a_text_of_sixty_lines_is_open_a_longer_one_folded(lines: int, tag: str) -> None:
    content = "\n".join(["x"] * lines)
    assert f"{tag}<summary>the text as the agent got it</summary><pre>{content}</pre></details>" in moment(
        content=content
    )


def test_a_memory_handed_out_has_its_verdict() -> None:
    memories = [
        {"id": "1", "text": "one", "outcome": "echo"}, {"id": "2", "text": "two", "outcome": "fizzle"},
        {"id": "3", "text": "", "outcome": "hm"},
    ]  # fmt: skip
    assert (
        '<ul class="handed"><li><span class="verdict echo">echo</span>one</li>'
        '<li><span class="verdict fizzle">fizzle</span>two</li>'
        '<li><span class="verdict open">open</span><span class=soft>forgotten</span></li>'
    ) in moment(memories=memories)


def report(**more: Any) -> Any:
    hooks = {**NONE, "ok": 0, "degraded": 0, "failed": 0, "late": 0, "answeredRate": None, "byEvent": []}
    return {
        "hours": 1.5, "since": "2026-09-20T10:00:00.000Z", "computedAt": "unknown", "leastCounted": 5, "sessions": 0,
        "compactions": 0, "hooks": {**hooks, **more.pop("hooks", {})},
        "recalls": {**NONE, "withHits": 0, "hitRate": None},
        "injections": {"count": 0, "tokens": 0, "memories": 0, "byType": []},
        "feedback": {"judged": 0, "echo": 0, "fizzle": 0, "echoRate": None}, "errors": {"total": 0, "latest": []},
        **more,
    }  # fmt: skip


SOFT = '<span class="soft">not enough yet</span>'


def test_the_tiles_of_a_report_on_nothing() -> None:
    html = report_page.of(report())
    assert tiles(html) == {
        "sessions": ("0", "0 compactions"), "hooks": ("0", ""), "a hook takes": ("–", "– at most in 95 of 100"),
        "injections": ("0", "0 tokens, estimated"), "hit rate": (SOFT, ""), "echo rate": (SOFT, ""),
        "hooks answered": (SOFT, "in time"), "errors": ("0", ""),
    }  # fmt: skip
    for nothing in ("No hook was called", "Nothing was injected", "No error"):
        assert f'<p class="soft">{nothing} in this time.</p>' in html
    assert "<h1>The last 1.5 hours</h1>" in html


def row(event: str, p95: float | None, **more: Any) -> dict[str, Any]:
    about = {**COST, "p95": p95, "client": "pi", "event": event, "late": 0, "failed": 0, "degraded": 0}
    return {**about, **more}


def test_the_tiles_and_tables_of_a_full_report() -> None:
    error = {"at": "2026-09-20T10:00:00.000Z", "component": "otel", "action": "disk.full", "error": "", "count": 1234}
    html = report_page.of(report(
        sessions=1200, compactions=3,
        hooks={**COST, "late": 1, "degraded": 2000, "answeredRate": 0.5,
               "byEvent": [row("", None, client=""), row("Stop", 30.0, late=2, degraded=1), row("x", 60.0)]},
        recalls={**COST, "count": 5, "withHits": 4, "hitRate": 0.8},
        injections={"count": 1500, "tokens": 2500, "memories": 1,
                    "byType": [{"customType": "refresh", "count": 1500, "memories": 1001, "tokens": 2500}]},
        feedback={"judged": 5, "echo": 2, "fizzle": 3, "echoRate": 0.4}, errors={"total": 1234, "latest": [error]},
    ))  # fmt: skip
    assert tiles(html) == {
        "sessions": ("1,200", "3 compactions"), "hooks": ("2", "1 late, 2,000 degraded"),
        "a hook takes": ("10 ms", "20 ms at most in 95 of 100"), "injections": ("1,500", "2,500 tokens, estimated"),
        "hit rate": ("80 %", "4 of 5 recalls"), "echo rate": ("40 %", "2 of 5 memories were used"),
        "hooks answered": ("50 %", "in time"), "errors": ('<span class="hot">1,234</span>', ""),
    }  # fmt: skip
    assert re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", html)[:3] == [("–", "not read"), ("pi", "Stop"), ("pi", "x")]
    bars = re.findall(r'<td class="n">(\S+(?: ms)?)<span class="bar" style="width:(\d+)%"></span></td>', html)
    assert bars == [("–", "0"), ("30 ms", "50"), ("60 ms", "100")]
    bad = re.findall(r'<td class="n">(–|<span class="bad">.*?</span>)</td></tr>', html)
    assert bad == ["–", '<span class="bad">2 late, 1 degraded</span>', "–"]
    assert '<td>refresh</td><td class="n">1,500</td><td class="n">1,001</td><td class="n">2,500</td>' in html
    assert '<td>2026-09-20 10:00:00</td><td>disk.full</td><td>–</td><td>otel</td><td class="n">1,234</td></tr>' in html


def test_hooks_that_were_all_in_time_are_said_to_be_and_without_a_duration_no_bar_is_wide() -> None:
    html = report_page.of(report(hooks={**COST, "byEvent": [row("Stop", 0.0)]}))
    assert tiles(html)["hooks"] == ("2", "all answered")
    assert 'style="width:0%"' in html
