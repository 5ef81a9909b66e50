"""The drawing of a session's context: what stands where in it, to a tenth of a unit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from session.session_report import chart


def at(minute: int) -> str:
    return f"2026-09-20T10:{minute:02}:00.000Z"


def life(
    percents: list[float], *, turns: list[int] | None = None, moments: list[tuple[str, str]] | None = None,
    warm: float = 40.0, hot: float = 60.0,
) -> Any:  # fmt: skip
    """A session with a point a minute; `moments` are kinds and times."""
    numbers = turns or [1] * len(percents)
    return {
        "context": [{"turn": numbers[n], "at": at(n), "percent": percent} for n, percent in enumerate(percents)],
        "warmPercent": warm, "hotPercent": hot,
        "turns": [{"moments": [{"kind": kind, "at": time} for kind, time in moments or []]}],
    }  # fmt: skip


def drawn(html: str, pattern: str) -> list[Any]:
    return re.findall(pattern, html)


RECT = r'<rect class="band-(\w+)" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"/>'
DOT = r'<circle class="(dot[ \w]*)" cx="(\S+)" cy="(\S+)" r="2.6"><title>(.*?)</title>'


def test_of_one_point_nothing_is_drawn_of_two_a_line_from_edge_to_edge() -> None:
    assert chart.of(life([])) == chart.of(life([50.0])) == ""
    html = chart.of(life([0.0, 100.0]))
    assert 'viewBox="0 0 960 270"' in html
    assert drawn(html, r'<polyline class="curve" points="(.*?)"/>') == ["64.0,228.0 946.0,26.0"]


def test_a_context_beyond_its_bounds_is_drawn_at_the_bound() -> None:
    html = chart.of(life([-5.0, 1.0, 99.0, 130.0]))
    assert drawn(html, r'<polyline class="curve" points="(.*?)"/>') == ["64.0,228.0 358.0,226.0 652.0,28.0 946.0,26.0"]


@pytest.mark.parametrize(
    ("warm", "hot", "bands"),
    [
        (40.0, 60.0, [("warm", "64", "106.8", "882", "40.4"), ("hot", "64", "26.0", "882", "80.8")]),
        (60.0, 60.0, [("hot", "64", "26.0", "882", "80.8")]),
        (70.0, 60.0, [("hot", "64", "26.0", "882", "80.8")]),
        (99.0, 100.0, [("warm", "64", "26.0", "882", "2.0")]),
    ],
)
def test_the_zones_are_bands(warm: float, hot: float, bands: list[Any]) -> None:
    html = chart.of(life([1.0, 2.0], warm=warm, hot=hot))
    assert drawn(html, RECT) == bands
    assert f"warm from {warm:g} %" in html and f"hot from {hot:g} %" in html


def test_the_axis_has_a_line_and_a_number_at_every_quarter() -> None:
    html = chart.of(life([1.0, 2.0]))
    assert drawn(html, r'<line class="grid" x1="(\S+)" x2="(\S+)" y1="(\S+)" y2="(\S+)"/>') == [
        ("64", "946", y, y) for y in ("228.0", "177.5", "127.0", "76.5", "26.0")
    ]
    assert drawn(html, r'<text x="57" y="(\S+)" text-anchor="end">(\d+) %') == [
        ("232.0", "0"), ("181.5", "25"), ("131.0", "50"), ("80.5", "75"), ("30.0", "100"),
    ]  # fmt: skip
    assert '<text x="946" y="266" text-anchor="end">turn</text>' in html


def test_a_line_stands_where_each_turn_begins_with_its_number() -> None:
    html = chart.of(life([1.0] * 5, turns=[0, 0, 1, 1, 3]))
    assert drawn(html, r'<line class="turn" x1="(\S+)" x2="(\S+)" y1="26" y2="228.0"/>') == [
        ("64.0", "64.0"), ("505.0", "505.0"), ("946.0", "946.0"),
    ]  # fmt: skip
    assert drawn(html, r'<text x="(\S+)" y="246.0" text-anchor="middle">(\d+)<') == [
        ("64.0", "0"), ("505.0", "1"), ("946.0", "3"),
    ]  # fmt: skip


def test_a_session_of_one_turn_has_one_line_for_it() -> None:
    html = chart.of(life([1.0] * 3))
    assert drawn(html, r'<line class="turn" x1="(\S+)"') == ["64.0"]
    assert drawn(html, r'y="246.0" text-anchor="middle">(\d+)<') == ["1"]


@pytest.mark.parametrize(("count", "every"), [(14, 1), (15, 2), (28, 2), (29, 3)])
def test_at_most_fourteen_turns_are_numbered(count: int, every: int) -> None:
    html = chart.of(life([1.0] * count, turns=list(range(count))))
    assert len(drawn(html, '<line class="turn"')) == count
    numbers = [int(one) for one in drawn(html, r'y="246.0" text-anchor="middle">(\d+)<')]
    assert numbers == list(range(0, count, every))


def test_numbers_stand_thirty_units_apart() -> None:
    # 882 units over 1,470 steps: 0.6 each, so that 50 points are 30 units.
    for second, shown in ((50, [0, 1]), (49, [0])):
        turns = [0] * second + [1] * (1471 - second)
        assert [int(one) for one in drawn(chart.of(life([1.0] * 1471, turns=turns)), r'middle">(\d+)<')] == shown


def test_every_point_has_a_dot_with_its_zone() -> None:
    html = chart.of(life([39.9, 40.0, 59.9, 60.0], turns=[1, 1, 2, 2]))
    assert drawn(html, DOT) == [
        ("dot", "64.0", "147.4", "turn 1, 10:00:00: 39.9 %"),
        ("dot warm", "358.0", "147.2", "turn 1, 10:01:00: 40 %"),
        ("dot warm", "652.0", "107.0", "turn 2, 10:02:00: 59.9 %"),
        ("dot hot", "946.0", "106.8", "turn 2, 10:03:00: 60 %"),
    ]


@pytest.mark.parametrize(("count", "dots"), [(120, 120), (121, 0)])
def test_of_more_than_120_points_only_the_line_is_drawn(count: int, dots: int) -> None:
    assert len(drawn(chart.of(life([1.0] * count)), 'class="dot')) == dots


def test_a_compaction_interrupts_the_line_and_stands_between_two_points() -> None:
    html = chart.of(life([10.0, 20.0, 5.0], moments=[("compaction", "2026-09-20T10:01:30.000Z"), ("zone", at(1))]))
    assert drawn(html, r'<polyline class="curve" points="(.*?)"/>') == ["64.0,207.8 505.0,187.6", "946.0,217.9"]
    assert drawn(html, r'<line class="compaction" x1="(\S+)" x2="(\S+)" y1="22" y2="228.0"/>') == [("725.5", "725.5")]
    assert drawn(html, r'<text class="compaction" x="(\S+)" y="17" text-anchor="middle">(\d+)') == [("725.5", "1")]


@pytest.mark.parametrize(
    ("time", "line", "x"),
    [
        ("2026-09-20T09:59:00.000Z", ["64.0,207.8 505.0,187.6 946.0,217.9"], "64.0"),
        (at(0), ["64.0,207.8", "505.0,187.6 946.0,217.9"], "284.5"),
        (at(2), ["64.0,207.8 505.0,187.6 946.0,217.9"], "946.0"),
        ("2026-09-20T11:00:00.000Z", ["64.0,207.8 505.0,187.6 946.0,217.9"], "946.0"),
    ],
)
def test_a_compaction_before_or_after_all_points_stands_at_the_edge(time: str, line: list[str], x: str) -> None:
    html = chart.of(life([10.0, 20.0, 5.0], moments=[("compaction", time)]))
    assert drawn(html, r'<polyline class="curve" points="(.*?)"/>') == line
    assert drawn(html, r'<text class="compaction" x="(\S+)"') == [x]


def test_compactions_are_numbered_by_time_and_those_of_unknown_time_left_out() -> None:
    moments = [("compaction", at(2)), ("compaction", "unknown"), ("compaction", at(0))]
    html = chart.of(life([10.0, 20.0, 5.0, 6.0], moments=moments))
    assert drawn(html, r'<text class="compaction" x="(\S+)" \S+ \S+>(\d+)') == [("211.0", "1"), ("799.0", "2")]


def test_an_injection_is_a_dot_on_the_axis_at_the_hook_before_it() -> None:
    times = [("injection", at(0)), ("injection", "2026-09-20T10:01:59.999Z"), ("injection", at(2))]
    html = chart.of(life([10.0, 20.0, 5.0], moments=[*times, ("injection", "2026-09-20T09:00:00.000Z")]))
    assert drawn(html, r'<circle class="injection" cx="(\S+)" cy="222.0" r="4"/>') == ["64.0", "64.0", "505.0", "946.0"]
