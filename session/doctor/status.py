"""The first part of an examination: what there is, how much of it, and what of it is wrong.

It is asked when something is wrong, so nothing that is wrong makes it fail: that is a finding (its codes are a
contract, `docs/doctor.md`), beside whatever could still be read.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from glob import escape, glob
from typing import Any, Literal

import apsw

from core import VERSION, clock, config, files, switches
from core.config import SETTINGS
from core.errors import Failure
from core.process import extras
from core.store import SCHEMA, open_unchanged, overview, sqlite
from core.store.cluster import outbox
from memory.archive import stuck
from otel import export as exporting
from otel import log
from recall import vectors as text_vectors
from session import checkpoint_run, settings_faults
from session.backup import archive
from session.state import state_file

# What makes more possible where it is installed; none of it is imported to find out.
_EXTRAS = ("typesense", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "mcp")
_MOST_UNKNOWN = 20
SEVERITIES = ("error", "warning", "note", "ok")
"""Something does not work; something is lost or will be; worth knowing; was wrong and is mended."""


@dataclass(frozen=True)
class Finding:
    """One finding: `code` is what scripts go by, `fix` a command that runs as printed, or one sentence."""

    severity: Literal["ok", "note", "warning", "error"]
    code: str
    subject: str
    message: str
    fix: str = ""


mended = partial(Finding, "ok")
note = partial(Finding, "note")
warning = partial(Finding, "warning")
error = partial(Finding, "error")


def in_order(found: Sequence[Finding], subjects: Sequence[str]) -> list[Finding]:
    """By subject, the worst first, each once: whoever reads a damaged store says so in his words."""
    unique: dict[object, Finding] = {}
    for one in found:
        unique.setdefault((one.code, one.subject, one.code == "STORE_DAMAGED" or one.message), one)
    return sorted(unique.values(), key=lambda one: (subjects.index(one.subject), SEVERITIES.index(one.severity)))


@dataclass
class Look:
    """What was seen; `result` is what `status` tells, `db` and `switches` are None where they cannot be read."""

    result: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    db: apsw.Connection | None = None
    switches: "switches.Switches | None" = None

    def failed(self, subject: str, failure: Failure) -> None:
        """What could not be looked at."""
        self.findings.append(error(failure.code, subject, failure.message, failure.fix))


def look() -> Look:
    """Look at everything that costs little; the home is not made for it."""
    seen = Look()
    vectors = overview.vector_extension()
    store, counted, export = _store(seen)
    embedding = {"space": text_vectors.SPACE, "dimensions": text_vectors.DIMENSIONS, "tokens": 0, "bytes": 0}
    try:
        table = text_vectors.Table()
        embedding |= {"tokens": table.count, "bytes": _bytes(table.path)}
    except text_vectors.TableDamaged as damage:
        seen.findings.append(error("NO_EMBEDDING", "store", f"no word vectors: {damage}", "reinstall joelclaw"))
    seen.result = {
        "version": VERSION,
        "python": ".".join(map(str, sys.version_info[:3])),
        "sqlite": apsw.sqlite_lib_version(),
        "sqliteVec": vectors,
        "home": files.home(),
        "store": store,
        "counts": counted["counts"],
        "events": {**counted["events"], "waiting": len(log.spooled_in(files.home()))},
        "otelExport": export,
        "sessions": _sessions(seen),
        "switches": _switches(seen),
        "config": _config(seen),
        "embedding": {**embedding, "vectors": counted["vectors"]},
        "extras": {name: extras.version(name) for name in _EXTRAS},
    }
    _unwritable(seen)
    if vectors is None:
        about = "sqlite-vec cannot be loaded: recall uses words only"
        seen.findings.append(warning("NO_VECTORS", "store", about, "reinstall sqlite-vec for this machine"))
    return seen


def _store(seen: Look) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
    """The store's facts, what it holds in numbers, and how far its events got on their way to a collector."""
    where, counted, waiting, export = sqlite.path(), overview.nothing(), None, None
    facts: dict[str, Any] = {"path": where, "exists": os.path.exists(where), "backend": "sqlite"}
    settings = None
    with suppress(Failure):  # told where the settings are
        settings = config.load()
        facts["backend"] = settings.get_str("store.backend")
    try:
        db = seen.db = sqlite.open_reading()
        if db is not None:
            counted = overview.read(db, now=clock.now_ms())
            if not db.filename:  # a copy: the next write migrates the file
                alone = not os.path.exists(where + "-wal")
                file = open_unchanged(where) if alone else apsw.Connection(where)
                counted["schema"] = int(file.execute("PRAGMA user_version").get)
                file.close()
            waiting = outbox.waiting(db) if outbox.enabled(db) else None
            if settings:
                export = exporting.status(db, settings)
                if export["mode"] == "off" and not any(place["exported"] for place in export["destinations"]):
                    export = None
            try:  # another process may keep the lock for writing
                db.execute("BEGIN IMMEDIATE").execute("ROLLBACK")
            except apsw.Error as fault:
                seen.failed("store", sqlite.as_failure(fault))
        seen.findings += [warning(subject="cluster", **one) for one in outbox.problems(waiting, facts["backend"])]
        seen.findings += [warning(subject="exporter", **one) for one in exporting.problems(export)] if export else []
    except Failure as failure:
        facts["error"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
        seen.failed("store", failure)
        seen.db = None  # nothing more is asked of it
    if (lost := archive.lost_store()) is not None:
        seen.findings.append(error(lost.code, "store", lost.message, lost.fix))
    for transcript, told in stuck.left_out():
        about = f"long outputs of {transcript} are archived in part: they took too long, or hold too much like secrets"
        seen.findings.append(warning("OUTPUT_LEFT_OUT", "store", about, f"nothing to do; rm {told} hides this"))
    sizes = {"bytes": _bytes(where), "walBytes": _bytes(where + "-wal")}
    return facts | sizes | {"schema": counted["schema"], "knownSchema": SCHEMA, "waiting": waiting}, counted, export


def _bytes(path: str) -> int:
    return os.stat(path).st_size if os.path.exists(path) else 0


def _unwritable(seen: Look) -> None:
    """What keeps this user from writing to the home; nothing where that is said already, or a file is in its place."""
    home = there = files.home()
    places = [os.path.join(home, name) for name in ("", "store.db", "store.db-wal", "sessions", "cache", "spool")]
    while not os.path.lexists(there):  # the first command would make it
        there = os.path.dirname(there)
        places = [there]
    wrong = next((path for path in places if os.path.exists(path) and not os.access(path, os.W_OK)), "")
    if not wrong or not os.path.isdir(there) or any(one.code == "STORE_READ_ONLY" for one in seen.findings):
        return
    if os.statvfs(wrong).f_flag & os.ST_RDONLY:
        fix = "mount its file system writable"
    elif there != home:
        fix = f"create {home} as a user with permission, then chown it to {os.geteuid() or 'root'}"
    elif os.stat(wrong).st_uid != os.geteuid():
        fix = f"it belongs to someone else: sudo chown -R {os.geteuid()} {shlex.quote(home)}"
    else:
        fix = f"chmod -R u+rwX {shlex.quote(home)}"
    about = f"{wrong.rstrip('/') or '/'} cannot be written: nothing new is stored"
    seen.findings.append(error("HOME_READ_ONLY", "home", about, f"{fix}; or set JOELCLAW_HOME to a folder of yours"))


def _sessions(seen: Look) -> dict[str, Any]:
    newest, count, damaged = None, 0, 0
    try:
        found = checkpoint_run.sessions()
        sound = [session for session in found if "problem" not in session]
        if sound:
            newest = {"sessionId": sound[0]["sessionId"], "at": clock.iso(sound[0]["updatedAt"])}
        count, damaged = len(found), len(found) - len(sound)
        damaged += sum(".damaged-" in name for name in os.listdir(state_file.folder()))
    except FileNotFoundError:
        pass
    except Failure as failure:
        seen.failed("home", failure)
    return {"count": count, "damaged": damaged, "newest": newest}


def _switches(seen: Look) -> dict[str, Any]:
    try:
        known = seen.switches = switches.read()
    except switches.Damaged as damage:
        fix = "joelclaw on sets it aside; then switch off again what was off"
        seen.findings.append(error("SWITCHES_DAMAGED", "switches", f"{switches.path()}: {damage}", fix))
        return {"off": [], "excluded": []}
    for path in sorted(glob(escape(switches.path()) + ".damaged-*")):
        about = f"it is no longer known what was switched off: {path} was damaged"
        fix = f"switch it off again (joelclaw off, exclude), then delete {path}"
        seen.findings.append(warning("SWITCHES_SET_ASIDE", "switches", about, fix))
    off = [one for one in known["silences"] if one["until"] is None]
    told = [{"scope": one["scope"], "name": one["name"], "since": clock.iso(one["since"])} for one in off]
    return {"off": told, "excluded": known["excluded"]}


def _config(seen: Look) -> dict[str, Any]:
    own = os.path.join(files.home(), "config.toml")
    about: dict[str, Any] = {"file": own, "exists": os.path.exists(own), "changed": {}}
    try:
        settings = config.load()
    except Failure as failure:
        seen.failed("settings", failure)
        return about
    unknown = (*settings.unknown, *config.unknown_variables())
    values = {name: getattr(settings, f"get_{type(one.default).__name__}")(name) for name, one in SETTINGS.items()}
    about |= {
        "changed": {name: value for name, value in values.items() if value != SETTINGS[name].default},
        "unknown": [settings_faults.sentence(*one) for one in unknown[:_MOST_UNKNOWN]],
    }
    return about
