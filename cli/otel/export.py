"""`joelclaw otel export`: once, on and on, in the background of other commands, or into a file."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, write_out
from core import clock, config, files, json_text
from core.errors import Failure, usage
from core.process import background_jobs, background_process
from core.store import events as stored
from core.store import export_cursor, sqlite
from otel import destination, export_status
from otel.delivered import Delivered

if TYPE_CHECKING:
    from core.config import Config
    from core.envelope import NextAction
    from core.store.sqlite import apsw

CODE = "OTEL_EXPORT_FAILED"
_POLL_S = 1.0
_LOCK_WAIT_S = 10.0
_ROOM = 4 * 1024 * 1024
_STATUS: NextAction = {
    "command": "joelclaw otel export --status",
    "description": "what waits, and how the last attempts went",
}


def run(options: dict[str, Any]) -> Answer | int:
    """Send what waits, or what else the flags ask for.

    Raises:
        Failure: OTEL_EXPORT_FAILED where a destination did not take everything; OTEL_EXPORT_CONFIG for variables that
            mean nothing here; OTEL_EXPORT_BUSY while another process sends; OTEL_INVALID_ARGS; the store's own code.
    """
    background = background_process.LIMIT in os.environ
    background_process.stop_in_time()
    if sum((options["follow"], options["status"], options["to"] is not None)) > 1:
        raise usage("OTEL_INVALID_ARGS", "--follow, --status and --to exclude each other", "give one of them")
    settings = config.load()
    if options["status"]:
        return _status(settings)
    if options["to"] is not None:
        return _into_file(options["to"])
    if background:
        return _in_background(settings)
    if options["follow"]:
        return _follow(settings)
    return _once(settings)


def _status(settings: Config) -> Answer:
    db = sqlite.open_reading()
    try:
        about = export_status.read(db, settings)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    return Answer(about, [{"command": "joelclaw otel export", "description": "send what waits now"}])


def _once(settings: Config) -> Answer:
    places = destination.every()
    if destination.disabled() or not places:
        return Answer({"disabled": True, "destinations": []}, [_STATUS])
    done = _send(settings, places)
    failed = [one for one in done if one.error]
    if failed:
        raise _failure(failed, done)
    return Answer({"disabled": False, "destinations": [_shown(one) for one in done]}, [_STATUS])


def _send(settings: Config, places: list[destination.Destination], wait_s: float = _LOCK_WAIT_S) -> list[Delivered]:
    """Export under the lock; without loading the SDK where nothing waits."""
    try:
        with files.FileLock(background_jobs.export_lock(), wait_s=wait_s):
            return _export(settings, places)
    except files.LockTimeout:
        raise Failure(
            "OTEL_EXPORT_BUSY",
            "another process is exporting",
            "wait for it, or look at `joelclaw otel export --status`",
        ) from None


def _export(settings: Config, places: list[destination.Destination], *, due_only: bool = False) -> list[Delivered]:
    db = sqlite.open_reading()
    if db is None or not _waits(db, places):
        return [Delivered(place.signal, place.shown) for place in places]
    db.close()
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
    from otel import export

    try:
        return export.run(db, places, now=clock.now_ms, due_only=due_only)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        db.close()


def _waits(db: apsw.Connection, places: list[destination.Destination]) -> bool:
    last = stored.last_seq(db)
    reached = {cursor.destination: cursor.reached for cursor in export_cursor.every(db)}
    return any(reached.get(place.key, 0) < last for place in places)


def _in_background(settings: Config) -> int:
    """What `background_jobs` starts: it holds the lock already, tells nobody, and says when to come again."""
    if destination.disabled():
        return 0
    try:
        done = _export(settings, destination.every(), due_only=True)
    except Failure:
        return 0  # `status` names it
    again_at = max((one.again_at for one in done), default=0)
    if again_at > clock.now_ms() + settings.whole("otel.export_seconds") * 1000:
        background_jobs.postpone_export(again_at)
    return 0


def _follow(settings: Config) -> int:
    """Send, wait, and so on, until Ctrl-C or SIGTERM: then exit 0. One line of JSON for each batch of news."""
    places = destination.every()
    if destination.disabled() or not places:
        raise Failure("OTEL_EXPORT_OFF", "OTEL_SDK_DISABLED or the exporters `none` switch it off", "unset them")
    show = _live if os.isatty(1) and "--json" not in sys.argv else _line
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failures = 0
    try:
        show({"following": True, "destinations": [{"signal": one.signal, "endpoint": one.shown} for one in places]})
        while True:
            try:
                done = _send(settings, places)
            except Failure as failure:
                failures += 1
                show({"ts": clock.iso(clock.now_ms()), "error": failure.message, "code": failure.code})
                time.sleep(_pause_s(failures))
                continue
            for one in done:
                if one.sent or one.rejected or one.error:
                    show({"ts": clock.iso(clock.now_ms()), **_shown(one)})
            failed = [one for one in done if one.error]
            failures = failures + 1 if failed else 0
            asked = max((one.again_at - clock.now_ms() for one in failed), default=0) / 1000
            time.sleep(max(_pause_s(failures), min(asked, 60.0)) if failed else _POLL_S)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes stdout once more at exit
    return 0


def _pause_s(failures: int) -> float:
    return float(min(60.0, 2.0 ** min(failures - 1, 6)))


def _into_file(where: str) -> Answer | int:
    """All events as OTLP/JSON lines; the cursors stay where they are."""
    db = sqlite.open_reading()
    if where == "-":
        size = 0
        for line in _json_lines(db, {}):
            size += len(line)
            write_out(line.decode())
        return 0
    counts: dict[str, int] = {}
    path = os.path.abspath(where)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb", buffering=_ROOM) as handle:
                handle.writelines(_json_lines(db, counts))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise Failure(CODE, f"{where}: {error.strerror}", "name a file in a folder that can be written") from None
    return Answer(
        {"file": path, "events": counts["events"], "lines": counts["lines"], "bytes": os.stat(path).st_size},
        [
            {
                "command": "joelclaw otel import <file>",
                "description": "take them into another home",
                "params": {"file": {"description": "this file", "value": path, "required": True}},
            }
        ],
    )


def _json_lines(db: apsw.Connection | None, counts: dict[str, int]) -> Any:
    counts.update(events=0, lines=0)
    if db is None:
        return
    from otel import otlp_json
    from otel.export import BATCH, BATCH_BYTES
    from otel.metrics import Totals

    try:
        upto = stored.last_seq(db)
        totals, at = Totals(), 0
        while True:
            events, at = export_cursor.batch(db, at, upto, BATCH, BATCH_BYTES)
            if not events:
                break
            totals.add(events)
            counts["events"] += len(events)
            for line in otlp_json.lines(events):
                counts["lines"] += 1
                yield line
        if counts["events"]:
            counts["lines"] += 1
            yield otlp_json.metrics_line(totals, clock.now_ms())
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None


def _shown(one: Delivered) -> dict[str, Any]:
    names = {"again_at": None, "status": None}
    return {name: value for name, value in asdict(one).items() if name not in names and (value or name not in _RARE)}


_RARE = ("error", "warning")


def _failure(failed: list[Delivered], done: list[Delivered]) -> Failure:
    parts = [f"{one.signal} to {one.endpoint}: {one.error} ({one.waiting} events wait)" for one in failed]
    taken = ", ".join(f"{one.signal} {one.sent}" for one in done if one.sent)
    if taken:
        parts.append(f"taken: {taken}")
    status = failed[0].status
    fix = "what waits is sent by the next export; "
    if status in (401, 403):
        fix += "check OTEL_EXPORTER_OTLP_HEADERS"
    elif status in (404, 405):
        fix += "check the path in OTEL_EXPORTER_OTLP_ENDPOINT: /v1/logs and its like are added to it"
    elif status:
        fix += "look at the collector's log"
    else:
        fix += "start a collector there, or set OTEL_EXPORTER_OTLP_ENDPOINT"
    return Failure(CODE, "; ".join(parts), fix)


def _line(row: dict[str, Any]) -> None:
    data = json_text.dumps(row).encode("utf-8", "replace") + b"\n"
    while data:
        data = data[os.write(1, data) :]


def _live(row: dict[str, Any]) -> None:
    from cli.otel.view import live_export

    live_export(row)
