"""How the export stands, without opentelemetry-sdk: for `otel export --status` and `joelclaw status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import Failure
from core.store import export_cursor
from otel import destination

if TYPE_CHECKING:
    import apsw

    from core.config import Config


def read(db: apsw.Connection | None, config: Config) -> dict[str, Any]:
    """Where events would go now and how far they are; endpoints of other times too, while they have a cursor.

    Never raises for wrong variables: `problem` holds what is wrong with them.

    Raises:
        apsw.Error: the store cannot be read.
    """
    about: dict[str, Any] = {"mode": config.text("otel.export"), "disabled": destination.disabled(), "destinations": []}
    current: list[destination.Destination] = []
    try:
        current = destination.every()
    except Failure as failure:
        about["problem"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
    known = {cursor.destination: cursor for cursor in (export_cursor.every(db) if db is not None else ())}
    for place in current:
        cursor = known.pop(place.key, None) or export_cursor.Cursor(place.key, place.signal, place.shown)
        about["destinations"].append({**_shown(db, cursor), "current": True})
    about["destinations"] += [{**_shown(db, cursor), "current": False} for cursor in known.values()]
    return about


def failing(about: dict[str, Any]) -> list[dict[str, str]]:
    """Problems for `joelclaw status`: destinations of now whose last attempt failed, and wrong variables."""
    if about["mode"] != "auto" or about["disabled"]:
        return []
    found = [about["problem"]] if "problem" in about else []
    return found + [
        {
            "code": "OTEL_EXPORT_FAILING",
            "message": f"{place['signal']} to {place['endpoint']}: {place['lastError']}",
            "fix": f"{place['waiting']} events wait; `joelclaw otel export` tries now",
        }
        for place in about["destinations"]
        if place["current"] and place["failures"]
    ]


def _shown(db: apsw.Connection | None, cursor: export_cursor.Cursor) -> dict[str, Any]:
    return {
        "signal": cursor.signal,
        "endpoint": cursor.endpoint,
        "waiting": export_cursor.waiting(db, cursor.reached) if db is not None else 0,
        "exported": cursor.exported,
        "rejected": cursor.rejected,
        "lastExportAt": _iso(cursor.exported_at),
        "failures": cursor.failures,
        "lastError": cursor.error or None,
        "lastFailureAt": _iso(cursor.failed_at),
        "nextTryAt": _iso(cursor.next_try_at or None) if cursor.failures else None,
    }


def _iso(moment: int | None) -> str | None:
    return None if moment is None else clock.iso(moment)
