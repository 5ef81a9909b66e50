"""Finding and counting the events of every machine, in the cluster; where it fails, those of this one."""

from __future__ import annotations

from core.errors import Failure
from otel import search as finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.config import Config
    from core.store.interface import EventQuery
    from core.store.typesense.events import Page


def find(
    config: Config,
    asked: EventQuery,
    local: Callable[[], dict[str, Any]],
    *,
    limit: int,
    page: int,
    text: str | None = None,
) -> dict[str, Any]:
    """As `otel.search.find`, with `backend`, and `fallback` where the cluster did not answer.

    Args:
        local: what the local file says, asked for then only.

    Raises:
        Failure: the local file's own code.
    """
    try:
        (got,) = _asked(config, asked, [finding.filter_by(asked)], limit=limit, page=page)
    except Failure as failure:
        return _instead(local(), failure)
    return {
        **({} if text is None else {"query": text}),
        "found": got["found"],
        "page": page,
        "limit": limit,
        "filterBy": finding.filter_by(asked),
        "events": [finding.shown(event) for event in got["events"]],
        "facets": _facets(got),
        "backend": "typesense",
    }


def stats(
    config: Config, asked: EventQuery, local: Callable[[], dict[str, Any]], *, hours: float, now: int
) -> dict[str, Any]:
    """As `otel.search.stats`, with `backend`, and `fallback` where the cluster did not answer.

    Raises:
        Failure: the local file's own code.
    """
    recent: EventQuery = {**asked, "since": now - finding.RECENT_MS}
    try:
        filters = [finding.filter_by(asked), finding.filter_by(recent)]
        whole, last = _asked(config, asked, filters, limit=0, page=1)
    except Failure as failure:
        return _instead(local(), failure)
    return {
        "windowHours": int(hours) if hours == int(hours) else hours,
        "filterBy": finding.filter_by(asked),
        **_rates(whole),
        "recent15m": _rates(last),
        "facets": _facets(whole),
        "backend": "typesense",
    }


def _asked(config: Config, asked: EventQuery, filters: list[str], *, limit: int, page: int) -> list[Page]:
    from core.store.typesense import events, search_client

    client = search_client.connect(config)
    try:
        return events.search(client, asked["words"], filters, limit=limit, page=page, values=finding.MAX_FACET_VALUES)
    finally:
        client.close()


def _instead(result: dict[str, Any], failure: Failure) -> dict[str, Any]:
    fallback = {"from": "typesense", "to": "sqlite", "reason": failure.message, "code": failure.code}
    return {**result, "backend": "sqlite", "fallback": fallback}


def _facets(page: Page) -> list[dict[str, Any]]:
    rows = []
    for name in finding.FACETS:
        ranked = sorted(page["counts"].get(name, {}).items(), key=lambda item: (-item[1], item[0]))
        rows.append({"field_name": name, "counts": [{"value": value, "count": count} for value, count in ranked]})
    return rows


def _rates(page: Page) -> dict[str, Any]:
    levels = page["counts"].get("level", {})
    errors = sum(levels.get(level, 0) for level in finding.ERRORS)
    total = page["found"]
    return {"total": total, "errors": errors, "errorRate": round(errors / total, 4) if total else 0.0}
