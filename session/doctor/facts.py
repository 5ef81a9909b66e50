"""What `status` prints about this machine's memory, and the findings met while collecting it.

`status` is run when something does not work. So a fault never stops it: it becomes a finding next to what could still
be read. The codes of findings are a contract (docs/doctor.md).
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
from core.store import sqlite, store_file
from core.store.cluster import outbox
from core.store.sqlite import SCHEMA, open_unchanged
from memory.archive import slow_lines
from otel import export, log
from recall import vectors
from session.backup import archive
from session.state_file import list_states, states_folder

SEVERITIES = ("error", "warning", "note", "ok")
"""It does not work; something is or will be lost; worth knowing; it was repaired."""


@dataclass(frozen=True)
class Finding:
    """One finding. Scripts go by its `code`. `fix` is a command that runs as printed, or a sentence."""

    severity: Literal["ok", "note", "warning", "error"]
    code: str
    subject: str
    message: str
    fix: str = ""


note = partial(Finding, "note")
warning = partial(Finding, "warning")
error = partial(Finding, "error")


def sorted_findings(findings: Sequence[Finding], subjects: Sequence[str]) -> list[Finding]:
    """The findings by subject, the worst first, without repetitions; a damaged store is reported once."""
    unique: dict[object, Finding] = {}
    for finding in findings:
        key = finding.code, finding.subject, finding.code == "STORE_DAMAGED" or finding.message
        unique.setdefault(key, finding)
    rank = SEVERITIES.index
    return sorted(unique.values(), key=lambda finding: (subjects.index(finding.subject), rank(finding.severity)))


@dataclass
class Facts:
    """The collected facts. The command prints `status`; the other fields are None if they cannot be read."""

    status: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    db: apsw.Connection | None = None
    switches: "switches.Switches | None" = None
    settings: config.Config | None = None

    def add_failure(self, subject: str, failure: Failure) -> None:
        """Report what could not be read."""
        self.findings.append(error(failure.code, subject, failure.message, failure.fix))


def collect() -> Facts:
    """Collect the facts, without creating the home."""
    facts = Facts()
    about_settings = _settings(facts)
    counted = store_file.no_contents()
    store = _store(facts, counted)
    vector_version = store_file.vector_extension()
    if vector_version is None:
        message = "sqlite-vec cannot be loaded: recall uses words only"
        facts.findings.append(warning("NO_VECTORS", "store", message, "reinstall sqlite-vec for this machine"))
    facts.status = {
        "version": VERSION,
        "python": ".".join(map(str, sys.version_info[:3])),
        "sqlite": apsw.sqlite_lib_version(),
        "sqliteVec": vector_version,
        "home": files.home(),
        "store": store,
        "counts": counted["counts"],
        "events": {**counted["events"], "waiting": len(log.spooled_in(files.home()))},
        "otelExport": _export(facts),
        "sessions": _sessions(facts),
        "switches": _switches(facts),
        "config": about_settings,
        "embedding": {**_embedding(facts), "vectors": counted["vectors"]},
        "extras": {
            name: _version(name)
            for name in ("typesense", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "mcp")
        },
    }
    _check_writable(facts)
    return facts


def _settings(facts: Facts) -> dict[str, Any]:
    path = os.path.join(files.home(), "config.toml")
    about: dict[str, Any] = {"file": path, "exists": os.path.exists(path), "changed": {}}
    try:
        settings = facts.settings = config.load()
    except Failure as failure:
        facts.add_failure("settings", failure)
        return about
    getters = {str: settings.get_str, bool: settings.get_bool, int: settings.get_int, float: settings.get_float}
    values = {name: getters[type(setting.default)](name) for name, setting in SETTINGS.items()}
    unknown = (*settings.unknown, *config.unknown_variables())
    about["changed"] = {name: value for name, value in values.items() if value != SETTINGS[name].default}
    about["unknown"] = [config.describe_unknown(*setting) for setting in unknown[:20]]
    return about


def _store(facts: Facts, counted: dict[str, Any]) -> dict[str, Any]:
    """The facts of the store; fills in `counted` (`store_file.no_contents`)."""
    path = sqlite.path()
    backend = facts.settings.get_str("store.backend") if facts.settings else "sqlite"
    about: dict[str, Any] = {"path": path, "exists": os.path.exists(path), "backend": backend}
    waiting = None
    try:
        db = facts.db = sqlite.open_reading()
        if db is not None:
            counted |= store_file.contents(db, now=clock.now_ms())
            if not db.filename:  # a migrated copy in memory: show the schema of the file
                file = apsw.Connection(path) if os.path.exists(path + "-wal") else open_unchanged(path)
                counted["schema"] = int(file.execute("PRAGMA user_version").get)
                file.close()
            waiting = outbox.waiting(db) if outbox.enabled(db) else None
            try:  # another process may hold the lock for writing
                db.execute("BEGIN IMMEDIATE").execute("ROLLBACK")
            except apsw.Error as fault:
                facts.add_failure("store", sqlite.as_failure(fault))
        facts.findings += [warning(subject="cluster", **problem) for problem in outbox.problems(waiting, backend)]
    except Failure as failure:
        about["error"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
        facts.add_failure("store", failure)
        facts.db = None
    if (lost := archive.lost_store()) is not None:
        facts.add_failure("store", lost)
    for transcript, record in slow_lines.left_out():
        message = f"long outputs of {transcript} are archived in part: they took too long or look like secrets"
        facts.findings.append(warning("OUTPUT_LEFT_OUT", "store", message, f"nothing to do; rm {record} hides this"))
    sizes = {"bytes": _size(path), "walBytes": _size(path + "-wal")}
    return {**about, **sizes, "schema": counted["schema"], "knownSchema": SCHEMA, "waiting": waiting}


def _export(facts: Facts) -> dict[str, Any] | None:
    """How far the export is; None if it was never used."""
    if facts.db is None or facts.settings is None:
        return None
    status = export.status(facts.db, facts.settings)
    if status["mode"] == "off" and not any(place["exported"] for place in status["destinations"]):
        return None
    facts.findings += [warning(subject="exporter", **problem) for problem in export.problems(status)]
    return status


def _embedding(facts: Facts) -> dict[str, Any]:
    about = {"space": vectors.SPACE, "dimensions": vectors.DIMENSIONS, "tokens": 0, "bytes": 0}
    try:
        table = vectors.Table()
        return {**about, "tokens": table.count, "bytes": _size(table.path)}
    except vectors.TableDamaged as damage:
        facts.findings.append(error("NO_EMBEDDING", "store", f"no word vectors: {damage}", "reinstall joelclaw"))
        return about


def _sessions(facts: Facts) -> dict[str, Any]:
    newest, count, damaged = None, 0, 0
    try:
        sessions = list_states()
        readable = [session for session in sessions if "problem" not in session]
        if readable:
            newest = {"sessionId": readable[0]["sessionId"], "at": clock.iso(readable[0]["updatedAt"])}
        count, damaged = len(sessions), len(sessions) - len(readable)
        damaged += sum(".damaged-" in name for name in os.listdir(states_folder()))
    except FileNotFoundError:
        pass
    except Failure as failure:
        facts.add_failure("home", failure)
    return {"count": count, "damaged": damaged, "newest": newest}


def _switches(facts: Facts) -> dict[str, Any]:
    try:
        known = facts.switches = switches.read()
    except switches.Damaged as damage:
        fix = "run `joelclaw on`, which sets the file aside; then repeat your `joelclaw off`"
        facts.findings.append(error("SWITCHES_DAMAGED", "switches", f"{switches.path()}: {damage}", fix))
        return {"off": [], "excluded": []}
    for path in sorted(glob(escape(switches.path()) + ".damaged-*")):
        message = f"{path} was damaged, so what it switched off is on again"
        fix = f"switch it off again (joelclaw off, exclude), then delete {path}"
        facts.findings.append(warning("SWITCHES_SET_ASIDE", "switches", message, fix))
    off = [period for period in known["silences"] if period["until"] is None]
    return {
        "off": [{"scope": it["scope"], "name": it["name"], "since": clock.iso(it["since"])} for it in off],
        "excluded": known["excluded"],
    }


def _check_writable(facts: Facts) -> None:
    """Report a home that this user cannot write to, unless the store has already said so."""
    home = files.home()
    paths = [os.path.join(home, name) for name in ("", "store.db", "store.db-wal", "sessions", "cache", "spool")]
    path = next((path for path in paths if os.path.exists(path) and not os.access(path, os.W_OK)), "")
    if path and not any(found.code == "STORE_READ_ONLY" for found in facts.findings):
        fix = f"chmod -R u+rwX {shlex.quote(home)}, as its owner; or set JOELCLAW_HOME to your own folder"
        facts.findings.append(error("HOME_READ_ONLY", "home", f"{path} cannot be written: nothing new is stored", fix))


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _version(distribution: str) -> str | None:
    """The version of an installed distribution, None if it is not installed.

    `importlib.metadata` would load the package `email`, which takes as long as three bare starts of Python.
    """
    name = distribution.replace("-", "_")
    for folder in sys.path:
        for path in glob(f"{escape(folder or '.')}/{name}-*.dist-info"):
            return os.path.basename(path).removeprefix(f"{name}-").removesuffix(".dist-info")
    return None
