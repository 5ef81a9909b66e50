"""How full a session's context was, as a drawing (SVG): percent over its hooks, zones, turns and compactions."""

from __future__ import annotations

from session.session_report import page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.session_report.life import Life
    from session.session_report.timeline import Point

STYLE = """
.chart svg { display: block; width: 100%; min-width: 32rem; height: auto; }
.chart text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.chart .band-warm { fill: var(--warm-band); } .chart .band-hot { fill: var(--hot-band); }
.chart .grid { stroke: var(--line); stroke-width: 1; }
.chart .turn { stroke: var(--line); stroke-width: 1; stroke-dasharray: 2 3; }
.chart .curve { fill: none; stroke: var(--cold); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .dot { fill: var(--cold); } .chart .dot.warm { fill: var(--warm); } .chart .dot.hot { fill: var(--hot); }
.chart .compaction { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 5 3; }
.chart text.compaction { fill: var(--mark); stroke: none; font-weight: 600; }
.chart .injection { fill: var(--good); }
@media (max-width: 46rem) { .chart text { font-size: 18px; } }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .6rem 0 0; padding: 0; list-style: none;
  color: var(--soft); font-size: .82rem; }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em;
  vertical-align: -.06em; }
.legend .k-warm { background: var(--warm-band); outline: 1px solid var(--warm); outline-offset: -1px; }
.legend .k-hot { background: var(--hot-band); outline: 1px solid var(--hot); outline-offset: -1px; }
.legend .k-compaction { background: var(--mark); width: .15em; }
.legend .k-injection { background: var(--good); border-radius: 50%; }
"""
_WIDE, _HIGH = 960, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 26, 42
_NUMBERS = 14
"""Turns that are numbered below the axis, at most."""
_DOTS = 120
"""Of more points only the line is drawn."""


def of(life: Life) -> str:
    """The drawing with its legend, as HTML; "" where fewer than two hooks told how full the context was."""
    points = life["context"]
    if len(points) < 2:
        return ""
    parts = [
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="context in percent over the session\'s turns">',
        *_bands(life["warmPercent"], life["hotPercent"]),
        *_turns(points),
        *_compactions(life, points),
        *_curve(life, points),
        *_injections(life, points),
        "</svg>",
    ]
    legend = (
        f'<ul class="legend"><li><i class="k-warm"></i>warm from {life["warmPercent"]:g} %</li>'
        f'<li><i class="k-hot"></i>hot from {life["hotPercent"]:g} %</li>'
        '<li><i class="k-compaction"></i>compaction</li><li><i class="k-injection"></i>injection</li></ul>'
    )
    return f'<div class="card"><div class="chart scroll">{"".join(parts)}</div>{legend}</div>'


def _x(at: float, count: int) -> float:
    return round(_LEFT + (_WIDE - _LEFT - _RIGHT) * at / max(1, count - 1), 1)


def _y(percent: float) -> float:
    return round(_TOP + (_HIGH - _TOP - _BOTTOM) * (1 - min(100.0, max(0.0, percent)) / 100), 1)


def _bands(warm: float, hot: float) -> list[str]:
    right = _WIDE - _RIGHT
    parts = []
    for name, low, high in (("warm", warm, max(warm, hot)), ("hot", hot, 100.0)):
        tall = round(_y(low) - _y(high), 1)
        if tall > 0:
            parts.append(
                f'<rect class="band-{name}" x="{_LEFT}" y="{_y(high)}" width="{right - _LEFT}" height="{tall}"/>'
            )
    for percent in (0, 25, 50, 75, 100):
        y = _y(percent)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 7}" y="{y + 4}" text-anchor="end">{percent} %</text>')
    return parts


def _turns(points: Sequence[Point]) -> list[str]:
    """A line where each turn begins, and the numbers of some."""
    begins = [at for at, point in enumerate(points) if at == 0 or point["turn"] != points[at - 1]["turn"]]
    every = -(-len(begins) // _NUMBERS)
    parts = []
    last = -100.0
    for place, at in enumerate(begins):
        x = _x(at, len(points))
        parts.append(f'<line class="turn" x1="{x}" x2="{x}" y1="{_TOP}" y2="{_y(0)}"/>')
        if place % every == 0 and x - last >= 30:
            parts.append(f'<text x="{x}" y="{_y(0) + 18}" text-anchor="middle">{points[at]["turn"]}</text>')
            last = x
    return [*parts, f'<text x="{_WIDE - _RIGHT}" y="{_HIGH - 4}" text-anchor="end">turn</text>']


def _curve(life: Life, points: Sequence[Point]) -> list[str]:
    """The line, interrupted by compactions, and a dot for each hook."""
    breaks = {_place(at, points) for at in _times(life, "compaction")}
    runs: list[list[int]] = [[]]
    for at in range(len(points)):
        if at in breaks and runs[-1]:
            runs.append([])
        runs[-1].append(at)
    parts = []
    for run in runs:
        line = " ".join(f"{_x(at, len(points))},{_y(points[at]['percent'])}" for at in run)
        parts.append(f'<polyline class="curve" points="{line}"/>')
    if len(points) <= _DOTS:
        for at, point in enumerate(points):
            percent = point["percent"]
            zone = " hot" if percent >= life["hotPercent"] else " warm" if percent >= life["warmPercent"] else ""
            told = f"turn {point['turn']}, {page.clock_time(point['at'])}: {percent:g} %"
            parts.append(
                f'<circle class="dot{zone}" cx="{_x(at, len(points))}" cy="{_y(percent)}" r="2.6">'
                f"<title>{told}</title></circle>"
            )
    return parts


def _compactions(life: Life, points: Sequence[Point]) -> list[str]:
    parts = []
    for number, at in enumerate(_times(life, "compaction"), 1):
        x = _x(min(len(points) - 1, max(0.0, _place(at, points) - 0.5)), len(points))
        parts.append(f'<line class="compaction" x1="{x}" x2="{x}" y1="{_TOP - 4}" y2="{_y(0)}"/>')
        parts.append(f'<text class="compaction" x="{x}" y="{_TOP - 9}" text-anchor="middle">{number}</text>')
    return parts


def _injections(life: Life, points: Sequence[Point]) -> list[str]:
    parts = []
    for at in _times(life, "injection"):
        x = _x(max(0, _place(at, points) - 1), len(points))
        parts.append(f'<circle class="injection" cx="{x}" cy="{_y(0) - 6}" r="4"/>')
    return parts


def _times(life: Life, kind: str) -> list[str]:
    """When moments of a kind were; those of unknown time are left out."""
    found = [one["at"] for turn in life["turns"] for one in turn["moments"] if one["kind"] == kind]
    return sorted(at for at in found if at[:1].isdigit())


def _place(at: str, points: Sequence[Point]) -> int:
    """How many points are at or before a time; ISO times compare as texts."""
    return sum(point["at"] <= at for point in points)
