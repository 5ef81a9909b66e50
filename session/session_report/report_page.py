"""The report over all sessions as a page for a browser."""

from __future__ import annotations

from session.session_report import page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from session.session_report.report import Report

_STYLE = """
td .bar { display: block; height: .3rem; border-radius: .15rem; background: var(--cold); margin-top: .2rem; }
.bad { color: var(--hot); font-weight: 600; }
"""


def of(report: Report) -> str:
    """The page."""
    hours = f"{report['hours']:g}"
    parts = [
        "<header>",
        f"<h1>The last {hours} hours</h1>",
        f'<p class="soft">{page.when(report["since"])} to {page.when(report["computedAt"])} UTC</p>',
        "</header>",
        page.tiles(_tiles(report)),
        *_section("What the hooks cost", _hooks(report["hooks"]), "No hook was called in this time."),
        *_section("Injections", _injections(report["injections"]["byType"]), "Nothing was injected in this time."),
        *_section("Errors", _errors(report["errors"]["latest"]), "No error in this time."),
        "<footer>Times are UTC; percentiles are those of the hooks' own durations, from their start to their answer."
        f" A rate of fewer than {report['leastCounted']} is not told."
        " Written by joelclaw from what it keeps on this machine.</footer>",
    ]
    return page.of(f"joelclaw: the last {hours} hours", _STYLE, parts)


def _section(title: str, inside: str, nothing: str) -> list[str]:
    return ["<section>", f"<h2>{title}</h2>", inside or f'<p class="soft">{nothing}</p>', "</section>"]


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    hooks, recalls, given = report["hooks"], report["recalls"], report["injections"]
    feedback, errors = report["feedback"], report["errors"]
    late = ", ".join(f"{hooks[name]:,} {name}" for name in ("late", "failed", "degraded") if hooks[name])
    used = f"{feedback['echo']} of {feedback['judged']} memories were used" if feedback["judged"] else ""
    hits = f"{recalls['withHits']} of {recalls['count']} recalls" if recalls["count"] else ""
    total = f'<span class="hot">{errors["total"]:,}</span>' if errors["total"] else "0"
    return [
        ("sessions", f"{report['sessions']:,}", f"{report['compactions']:,} compactions"),
        ("hooks", f"{hooks['count']:,}", late or ("all answered" if hooks["count"] else "")),
        ("a hook takes", page.ms(hooks["p50"]), f"{page.ms(hooks['p95'])} at most in 95 of 100"),
        ("injections", f"{given['count']:,}", f"{given['tokens']:,} tokens, estimated"),
        ("hit rate", _rate(recalls["hitRate"]), hits),
        ("echo rate", _rate(feedback["echoRate"]), used),
        ("hooks answered", _rate(hooks["answeredRate"]), "in time"),
        ("errors", total, ""),
    ]


def _rate(value: float | None) -> str:
    return page.share(value) if value is not None else f'<span class="soft">{page.share(value)}</span>'


def _hooks(hooks: dict[str, Any]) -> str:
    rows: Sequence[dict[str, Any]] = hooks["byEvent"]
    longest = max((one["p95"] or 0 for one in rows), default=0)
    drawn = []
    for one in rows:
        wide = round(100 * (one["p95"] or 0) / longest) if longest else 0
        bad = ", ".join(f"{one[name]:,} {name}" for name in ("late", "failed", "degraded") if one[name])
        drawn.append(
            (
                page.line(one["client"] or "–"), page.line(one["event"] or "not read"), f"{one['count']:,}",
                page.ms(one["p50"]), f'{page.ms(one["p95"])}<span class="bar" style="width:{wide}%"></span>',
                page.ms(one["max"]), page.ms(one["totalMs"]), f'<span class="bad">{bad}</span>' if bad else "–",
            )
        )  # fmt: skip
    columns = ("client", "event", "hooks", "median", "95 %", "longest", "together", "not ok")
    return page.table(columns, drawn, texts=2)


def _injections(rows: Sequence[dict[str, Any]]) -> str:
    drawn = [
        (page.line(one["customType"]), f"{one['count']:,}", f"{one['memories']:,}", f"{one['tokens']:,}")
        for one in rows
    ]
    return page.table(("kind", "injections", "memories in them", "tokens, estimated"), drawn)


def _errors(rows: Sequence[dict[str, Any]]) -> str:
    drawn = [
        (
            page.when(one["at"]), page.line(one["action"]), page.line(one["error"]) or "–",
            page.line(one["component"]), f"{one['count']:,}",
        )
        for one in rows
    ]  # fmt: skip
    return page.table(("last at", "event", "error", "component", "times"), drawn, texts=4)
