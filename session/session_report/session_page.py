"""One session's life as a page for a browser."""

from __future__ import annotations

from session.session_report import chart, page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from session.session_report.life import Life
    from session.session_report.moment import Moment
    from session.session_report.timeline import Turn

_STYLE = (
    chart.STYLE
    + """
ol.turns { list-style: none; margin: 0; padding: 0; }
.turn { display: grid; grid-template-columns: 5.2rem minmax(0, 1fr); gap: 0 1rem; padding: .85rem 0;
  border-top: 1px solid var(--line); }
.turn:first-child { border-top: 0; }
.turn .who { color: var(--soft); font-size: .82rem; font-variant-numeric: tabular-nums; line-height: 1.45; }
.turn .who b { display: block; color: var(--ink); font-size: 1rem; font-weight: 600; }
.turn .said { overflow-wrap: anywhere; margin: 0; }
.turn .meta { color: var(--soft); font-size: .82rem; margin: .15rem 0 0; font-variant-numeric: tabular-nums; }
.gauge { display: inline-block; width: 4.2rem; height: .5rem; border-radius: .25rem; background: var(--line);
  vertical-align: .02em; margin-right: .45rem; overflow: hidden; }
.gauge i { display: block; height: 100%; background: currentColor; }
ul.moments { list-style: none; margin: .55rem 0 0; padding: 0; }
.moment { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: 0 .7rem; padding: .22rem 0;
  font-size: .92rem; }
.moment .kind { font-size: .78rem; padding-top: .12rem; color: var(--soft); }
.moment p { margin: 0; overflow-wrap: anywhere; }
.moment time { color: var(--soft); font-size: .78rem; margin-left: .4rem; white-space: nowrap; }
.k-zone .kind { color: var(--warm); } .k-compaction .kind, .k-checkpoint .kind { color: var(--mark); }
.k-injection .kind, .k-recall .kind, .k-feedback .kind { color: var(--good); } .k-error .kind { color: var(--hot); }
.k-compaction p { font-weight: 600; }
details { margin: .3rem 0 .2rem; }
summary { cursor: pointer; color: var(--soft); font-size: .82rem; }
pre { margin: .35rem 0 .3rem; padding: .7rem .85rem; background: var(--code); border: 1px solid var(--line);
  border-radius: .45rem; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.45; }
ul.handed { margin: .2rem 0 0; padding: 0; list-style: none; font-size: .86rem; }
ul.handed li { padding: .1rem 0; overflow-wrap: anywhere; }
.verdict { display: inline-block; min-width: 3.6rem; font-size: .78rem; color: var(--soft); }
.verdict.echo { color: var(--good); font-weight: 600; }
@media (max-width: 34rem) { .turn { grid-template-columns: 1fr; gap: .15rem; }
  .turn .who b { display: inline; margin-right: .5rem; }
  .moment { grid-template-columns: 1fr; } }
"""
)
_TEXT_LINES = 60


def of(life: Life) -> str:
    """The page."""
    name = life["sessionId"]
    where = " · ".join(page.line(part) for part in (life["client"], life["project"]) if part)
    parts = [
        "<header>",
        f"<h1>Session {page.line(_short(name))}</h1>",
        f'<p class="soft">{where}{" · " if where else ""}<code>{page.line(name)}</code></p>',
        f'<p class="soft">{page.when(life["startedAt"])} to {page.when(life["updatedAt"])} UTC</p>',
        f'<p class="task">{page.line(life["task"])}</p>' if life["task"] else "",
        f'<p class="hot">{page.line(life["problem"])}</p>' if life["problem"] else "",
        "</header>",
        page.tiles(_tiles(life)),
    ]
    drawing = chart.of(life)
    if drawing:
        parts += ["<section>", "<h2>Context over the turns</h2>", drawing, "</section>"]
    parts += ["<section>", "<h2>Turns</h2>"]
    if life["turns"]:
        parts += ['<div class="card"><ol class="turns">', *map(_turn, life["turns"]), "</ol></div>"]
    else:
        parts.append('<p class="soft">No turn is known.</p>')
    parts.append("</section>")
    if life["hooksByEvent"]:
        rows = [
            (
                page.line(one["event"] or "not read"), f"{one['count']:,}", page.ms(one["p50"]), page.ms(one["p95"]),
                page.ms(one["max"]), page.ms(one["totalMs"]), f"{one['notOk']:,}" if one["notOk"] else "–",
            )
            for one in life["hooksByEvent"]
        ]  # fmt: skip
        columns = ("event", "hooks", "median", "95 %", "longest", "together", "not ok")
        parts += ["<section>", "<h2>What the hooks cost</h2>", page.table(columns, rows), "</section>"]
    parts.append("<footer>Times are UTC. Written by joelclaw from what it keeps on this machine.</footer>")
    return page.of(f"Session {_short(name)}", _STYLE, [part for part in parts if part])


def _short(name: str) -> str:
    return name[:8] if len(name) == 36 and name.count("-") == 4 else name[:60]


def _tiles(life: Life) -> list[tuple[str, str, str]]:
    percent, hooks, given, memories = life["contextPercent"], life["hooks"], life["injections"], life["memories"]
    zone = life["zone"] if life["zone"] in ("cold", "warm", "hot") else ""
    shown = f'<span class="{zone}">{percent:.0f} %</span>' if percent is not None else "–"
    failed = f"{life['failedCalls']:,} failed" if life["failedCalls"] else ""
    used = f"{memories['echo']} used, {memories['fizzle']} not, {memories['open']} open"
    return [
        ("turns", f"{life['turnCount']:,}", ""),
        ("tool calls", f"{life['toolCalls']:,}", failed),
        ("compactions", f"{life['compactions']:,}", ""),
        ("context now", shown, zone),
        ("injected", f"{given['count']:,}", f"{given['tokens']:,} tokens, estimated"),
        ("memories handed out", f"{memories['injected']:,}", used if memories["injected"] else ""),
        ("recalls", f"{life['recalls']:,}", "by the agent and for its task"),
        ("hooks", f"{hooks['count']:,}", f"{page.ms(hooks['p50'])} median, {page.ms(hooks['totalMs'])} together"),
    ]


def _turn(turn: Turn) -> str:
    zone = turn["zone"] if turn["zone"] in ("cold", "warm", "hot") else ""
    number = str(turn["number"]) if turn["number"] else "before"
    if turn["prompt"]:
        said = f'<p class="said">{page.line(turn["prompt"])}</p>'
    else:
        said = f'<p class="said soft">{"prompt not archived" if turn["number"] else "before the first prompt"}</p>'
    moments = "".join(map(_moment, turn["moments"]))
    return (
        f'<li class="turn"><div class="who"><b>{number}</b>{page.clock_time(turn["at"])}</div>'
        f'<div>{said}<p class="meta">{_meta(turn, zone)}</p>'
        + (f'<ul class="moments">{moments}</ul>' if moments else "")
        + "</div></li>"
    )


def _meta(turn: Turn, zone: str) -> str:
    percent = turn["contextPercent"]
    parts = []
    if percent is not None:
        wide = min(100, max(0, round(percent)))
        gauge = f'<span class="gauge {zone}"><i style="width:{wide}%"></i></span>'
        parts.append(f'<span class="nowrap">{gauge}<span class="{zone}">{percent:.0f} %</span></span>')
    if turn["toolCalls"]:
        failed = f", {turn['failedCalls']} failed" if turn["failedCalls"] else ""
        parts.append(f"{turn['toolCalls']:,} tool call{'s' * (turn['toolCalls'] != 1)}{failed}")
    if turn["hooks"]:
        parts.append(f"{turn['hooks']:,} hook{'s' * (turn['hooks'] != 1)}, {page.ms(turn['hookMs'])}")
    if turn["seconds"]:
        parts.append(duration(turn["seconds"]))
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _moment(one: Moment) -> str:
    kind = one["kind"]
    about = [page.line(one["customType"])] if one.get("customType") else []
    if one.get("tokens"):
        about.append(f"{one['tokens']:,} tokens")
    if one.get("ms") is not None:
        about.append(page.ms(one["ms"]))
    behind = f' <span class="soft">({", ".join(about)})</span>' if about else ""
    content = one.get("content", "")
    inside = ""
    if content:
        lines = content.count("\n") + 1
        opened = " open" if lines <= _TEXT_LINES else ""
        told = "the text as the agent got it"
        inside = f"<details{opened}><summary>{told}</summary><pre>{page.text(content)}</pre></details>"
    if one.get("memories"):
        inside += '<ul class="handed">' + "".join(
            f'<li><span class="verdict {name}">{name}</span>'
            f"{page.line(handed['text']) or '<span class=soft>forgotten</span>'}</li>"
            for handed in one["memories"]
            for name in (handed["outcome"] if handed["outcome"] in ("echo", "fizzle") else "open",)
        ) + "</ul>"  # fmt: skip
    return (
        f'<li class="moment k-{kind}"><span class="kind">{kind}</span><div><p>{page.line(one["text"])}{behind}'
        f"<time>{page.clock_time(one['at'])}</time></p>{inside}</div></li>"
    )
