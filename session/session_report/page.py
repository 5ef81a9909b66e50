"""The frame of a page: one file that asks for nothing outside itself, read without script, light or dark.

Whatever was stored is written by `text`; a page says that a browser may load nothing (Content-Security-Policy).
"""

from __future__ import annotations

from html import escape

from core.output.shown import shown, shown_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark;
  --ground: #f7f6f3; --card: #ffffff; --ink: #22211e; --soft: #6a665d; --line: #e3dfd6; --code: #f3f1ec;
  --cold: #3d78b4; --warm: #b97a08; --hot: #c2412b; --good: #2c7d4f; --mark: #7a4fb0;
  --warm-band: rgba(200, 138, 20, .10); --hot-band: rgba(200, 66, 44, .11); }
@media (prefers-color-scheme: dark) { :root {
  --ground: #141619; --card: #1c1f23; --ink: #e6e3dc; --soft: #9b978d; --line: #30343a; --code: #15181b;
  --cold: #6ea8e0; --warm: #e0a83c; --hot: #f0765f; --good: #63bd8a; --mark: #b693e6;
  --warm-band: rgba(224, 168, 60, .10); --hot-band: rgba(240, 118, 95, .13); } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 2.2rem 1.25rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.015em; overflow-wrap: anywhere; }
h2 { font-size: 1.02rem; margin: 2.4rem 0 .7rem; letter-spacing: -.005em; }
p { margin: 0 0 .5rem; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  font-size: .86em; }
.soft { color: var(--soft); }
.nowrap { white-space: nowrap; }
.task { margin: 1rem 0 0; padding: .1rem 0 .1rem .9rem; border-left: 3px solid var(--line); font-size: 1.05rem;
  overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .7rem;
  margin: 1.5rem 0 0; padding: 0; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .7rem .9rem; }
.tiles dt { color: var(--soft); font-size: .82rem; }
.tiles dd { margin: 0; font-size: 1.35rem; font-weight: 600; letter-spacing: -.02em;
  font-variant-numeric: tabular-nums; }
.tiles dd .soft { font-size: 1rem; font-weight: 500; letter-spacing: 0; }
.tiles small { display: block; color: var(--soft); font-size: .78rem; font-weight: 400; letter-spacing: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: left; padding: .38rem .8rem .38rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 500; font-size: .82rem; white-space: nowrap; }
th.n, td.n { text-align: right; white-space: nowrap; }
td { overflow-wrap: anywhere; }
.cold { color: var(--cold); } .warm { color: var(--warm); } .hot { color: var(--hot); } .good { color: var(--good); }
footer { margin-top: 2.6rem; color: var(--soft); font-size: .82rem; }
@media (max-width: 46rem) { .tiles { grid-template-columns: 1fr 1fr; } }
@media (max-width: 34rem) { main { padding: 1.3rem .9rem 2rem; } h1 { font-size: 1.3rem; }
  .card { padding: .7rem .75rem; } }
@media print { body { background: #fff; } .turn, .card { break-inside: avoid; } }
"""


def of(title: str, style: str, parts: Iterable[str]) -> str:
    """A whole page.

    Args:
        title: as it was stored.
        style: rules beside those that all pages have.
        parts: HTML, in order.
    """
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{line(title)}</title>",
            f"<style>{_STYLE}{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *parts,
            "</main>",
            "</body>",
            "</html>",
            "",
        )
    )


def text(stored: str) -> str:
    """What was stored as HTML that shows it, with its line breaks, and does nothing."""
    return escape(shown(stored))


def line(stored: str) -> str:
    """The same on one line."""
    return escape(shown_line(stored))


def tiles(rows: Sequence[tuple[str, str, str]]) -> str:
    """Figures side by side: of each its name, the figure, and what it is made of; HTML."""
    inner = "".join(
        f"<div><dt>{name}</dt><dd>{figure}{f'<small>{made_of}</small>' if made_of else ''}</dd></div>"
        for name, figure, made_of in rows
    )
    return f'<dl class="tiles">{inner}</dl>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """A table; its first `texts` columns hold text, the others numbers. All is HTML."""
    head = "".join(f"<th{_number(at, texts)}>{name}</th>" for at, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(f"<td{_number(at, texts)}>{cell}</td>" for at, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="card scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        if rows
        else ""
    )


def _number(at: int, texts: int) -> str:
    return ' class="n"' if at >= texts else ""


def ms(value: float | None) -> str:
    """A duration: `7.4 ms`, `230 ms`, `2.1 s`; a dash where it is not known."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value / 1000:,.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def share(value: float | None) -> str:
    """A rate in percent; what says that there is too little to tell one."""
    return "not enough yet" if value is None else f"{value:.0%}".replace("%", " %")


def when(iso: str) -> str:
    """A time of a record, to the second, without its zone (UTC); "–" where it is not known."""
    return line(iso[:19].replace("T", " ")) if iso[:1].isdigit() else "–"


def clock_time(iso: str) -> str:
    """Its hours, minutes and seconds."""
    return line(iso[11:19]) if iso[:1].isdigit() else "–"
