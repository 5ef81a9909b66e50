"""`joelclaw doctor` and `status`: checks the memory and the clients' hooks, and makes safe repairs.

A check is a function that yields findings and puts facts into the `Examination`. It is run when something does not
work, so neither a `Failure` nor a fault of its own stops the others: it becomes a finding next to what could still be
read. The codes of findings are a contract (docs/doctor.md).
"""

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from glob import escape, glob
from heapq import nlargest
from threading import Thread
from typing import Any

import apsw

import clients
from clients.base import Client
from core import VERSION, clock, config, files, switches
from core.command import find_program
from core.errors import Failure, explained
from core.project import is_below
from core.quoting import counted
from core.store import cluster, cluster_sync, folders, sqlite, store_file
from memory.archive import transcript_files
from otel import export, log
from recall import vectors
from session import doctor_hooks, own_command
from session.doctor_hooks import Finding, error, note, warning
from session.install import plan
from session.install.client_settings import settings_of
from session.known_states import list_states, state_times
from session.state import states_folder

FIXABLE = doctor_hooks.FIXABLE | {"MODES_OPEN", "STALE_FILES"}
SUBJECTS = ("command", "store", "home", "switches", "settings", "model", "cluster", "exporter")  # as they are printed

LARGE_STORE_BYTES = 4_000_000  # reading every page takes as long as a bare start of Python


class Examination:
    """What the checks have learned: `facts` are printed by `status`, `clients` by `doctor`.

    `settings`, `db` and `switches` are None if they cannot be read, `db` also if nothing is stored yet.
    """

    settings: config.Config | None = None
    db: apsw.Connection | None = None
    switches: "switches.Switches | None" = None

    def __init__(self, names: Sequence[str], *, project: bool, reads_all: bool) -> None:
        self.names = names  # of the clients to check; empty: those that are here or have hooks of ours
        self.project = project
        self.reads_all = reads_all  # of the store, however large
        self.findings: list[Finding] = []
        self.facts: dict[str, Any] = {}
        self.reading: Thread | None = None  # the check of the store's pages, which still runs
        self.clients: dict[str, dict[str, Any]] = {}

    @cached_property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of hooks in the last day."""
        return doctor_hooks.calls(self.db, clock.now_ms() - clock.DAY_MS)


def run(
    names: Sequence[str] = (), *, project: bool = False, fix: bool = False, reads_all: bool = True
) -> dict[str, Any]:
    """Run all checks. With `fix`, make safe repairs, check again, and add each repair as a finding `ok`.

    `reads_all`: read every page of the store even if it is large, which takes seconds.
    """
    examination = _examine(Examination(names, project=project, reads_all=reads_all))
    if fix and (done := _repair(examination)):
        examination = _examine(Examination(names, project=project, reads_all=reads_all))
        examination.findings += done
    findings = _sorted(examination.findings)
    severities = {"errors": "error", "warnings": "warning", "notes": "note", "fixed": "ok"}
    counts = {name: sum(it.severity == severity for it in findings) for name, severity in severities.items()}
    paths = {"command": own_command.path() or "", "store": sqlite.path(), "home": files.home()}
    places = {name: {"path": path, "exists": os.path.exists(path)} for name, path in paths.items()}
    return {
        "healthy": not counts["errors"], **counts, "findings": [finding._asdict() for finding in findings],
        "clients": examination.clients, "subjects": {name: places.get(name, {}) for name in SUBJECTS},
        "folder": os.getcwd(), "facts": examination.facts,
    }  # fmt: skip


def _examine(examination: Examination) -> Examination:
    """Run all checks without writing to the home."""
    files.is_read_only = True
    try:
        for check, subject in CHECKS.items():
            _run_check(examination, subject, check)
        for client in clients.with_hooks():
            if not examination.names or client.name in examination.names:
                _run_check(examination, client.name, partial(check_client, client=client))
        if examination.reading is not None:
            examination.reading.join()
        return examination
    finally:
        files.is_read_only = False


def _run_check(examination: Examination, subject: str, check: Callable[[Examination], Iterator[Finding]]) -> None:
    """Add what a check finds; a fault that ends it is a finding as well."""
    try:
        examination.findings.extend(check(examination))
    except Failure as failure:
        examination.findings.append(_finding(subject, failure))
    except sqlite.StoreError as fault:
        examination.findings.append(_finding("store", sqlite.as_failure(fault)))
    except Exception as fault:
        message = f"this could not be checked: {type(fault).__name__}: {fault}"
        fix = "report this as a bug; `joelclaw doctor` checks everything else"
        examination.findings.append(error("CHECK_FAILED", subject, message, fix))


def _finding(subject: str, failure: Failure) -> Finding:
    return error(failure.code, subject, failure.message, failure.fix)


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    """The findings by subject, the worst first, without repetitions; a damaged store is reported once."""
    unique: dict[object, Finding] = {}
    for finding in findings:
        key = finding.code, finding.subject, finding.code == "STORE_DAMAGED" or finding.message
        unique.setdefault(key, finding)
    subjects, severities = (*clients.NAMES, *SUBJECTS), ("error", "warning", "note", "ok")
    rank = [*subjects, *severities].index
    return sorted(unique.values(), key=lambda finding: (rank(finding.subject), rank(finding.severity)))


def check_command(examination: Examination) -> Iterator[Finding]:
    """Versions, and whether `joelclaw` on the PATH is this installation."""
    python = ".".join(map(str, sys.version_info[:3]))
    examination.facts |= {"version": VERSION, "python": python, "sqlite": apsw.sqlite_lib_version()}
    own, found = own_command.path(), shutil.which(own_command.NAME)
    if found and own and os.path.realpath(found) != os.path.realpath(own):
        message = f"`joelclaw` on the PATH is {found}; this is {own}, version {VERSION}"
        yield warning("PATH_COMMAND_OTHER", "command", message, "keep one of the two")


def check_settings(examination: Examination) -> Iterator[Finding]:
    """Whether the settings can be read, which were changed, and which are unknown."""
    path = os.path.join(files.home(), "config.toml")
    about = examination.facts["config"] = {"file": path, "exists": os.path.exists(path), "changed": {}}
    try:
        settings = examination.settings = config.load()
    except Failure as failure:
        yield _finding("settings", failure)
        return
    getters = {str: settings.get_str, bool: settings.get_bool, int: settings.get_int, float: settings.get_float}
    values = {name: getters[type(setting.default)](name) for name, setting in config.SETTINGS.items()}
    changed = {name: value for name, value in values.items() if value != config.SETTINGS[name].default}
    about |= {"changed": changed, "unknown": [config.describe_unknown(*setting) for setting in settings.unknown[:20]]}


def check_store(examination: Examination) -> Iterator[Finding]:
    """Whether the store's file can be read and written and is intact, and its figures."""
    path, settings = sqlite.path(), examination.settings
    about: dict[str, Any] = {
        "path": path, "exists": os.path.exists(path), "bytes": _size(path), "walBytes": sqlite.log_bytes(),
        "backend": settings.get_str("store.backend") if settings else "sqlite", "knownSchema": sqlite.SCHEMA,
        "waiting": None,
    }  # fmt: skip
    counted = store_file.no_contents()
    examination.facts |= {"home": files.home(), "store": about}
    try:
        db = sqlite.open_reading()
        if db is not None:
            if examination.reads_all or _size(path) <= LARGE_STORE_BYTES:
                examination.reading = Thread(target=_run_check, args=(examination, "store", check_pages), daemon=True)
                examination.reading.start()
            counted = store_file.contents(db, now=clock.now_ms())
            about["waiting"] = cluster_sync.outbox_status(db) if cluster_sync.has_outbox(db) else None
            examination.db = db
    except Failure as failure:
        about["error"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
        yield _finding("store", failure)
    finally:
        about["schema"] = counted["schema"]
        examination.facts |= {"counts": counted["counts"], "events": {**counted["events"], "waiting": 0}}
        examination.facts["embedding"] = {"vectors": counted["vectors"]}
    if (lost := sqlite.lost_store(examination.db)) is not None:
        yield _finding("store", lost)
    if examination.db is not None:
        about |= counted["file"]


def check_pages(_: Examination) -> Iterator[Finding]:
    """Whether the pages of the store are intact. Runs beside the other checks, since it may take long."""
    if faults := store_file.faults():
        fix = (
            "with a backup: `joelclaw restore FILE --force` (the current data is set aside); without one, save what is "
            f"left with `joelclaw memory export`, move {sqlite.path()} away, and import it again"
        )
        yield error("STORE_DAMAGED", "store", f"{sqlite.path()} is damaged: {'; '.join(faults)}", fix)


def check_project(examination: Examination) -> Iterator[Finding]:
    """Whether the folder, or the repository around it, belonged to another project before."""
    if examination.db is None:
        return
    at = folders.known(examination.db, os.getcwd())
    if at.former not in ("", at.project):
        message = f'"{at.former}" was the project of {at.folder}, which is now "{at.project}": was it renamed?'
        fix = f"joelclaw project rename {shlex.quote(at.former)} {shlex.quote(at.project)}"
        yield warning("PROJECT_RENAMED", "store", message, fix)


def check_vectors(examination: Examination) -> Iterator[Finding]:
    """Whether recall can search by meaning."""
    examination.facts["sqliteVec"] = store_file.vector_extension()
    if examination.facts["sqliteVec"] is None:
        message = "sqlite-vec cannot be loaded: recall uses words only"
        yield warning("NO_VECTORS", "store", message, "reinstall sqlite-vec for this machine")
    about = {"space": vectors.SPACE, "dimensions": vectors.DIMENSIONS, "tokens": 0, "bytes": 0}
    examination.facts["embedding"] |= about
    try:
        table = vectors.Table()
        examination.facts["embedding"] |= {"tokens": table.count, "bytes": _size(table.path)}
    except vectors.TableDamaged as damage:
        yield error("NO_EMBEDDING", "store", f"no word vectors: {damage}", "reinstall joelclaw")


def check_home(examination: Examination) -> Iterator[Finding]:
    """Whether the home can be written and its disk has room, the modes of its files, leftovers, and a full spool."""
    home = files.home()
    if fault := files.home_fault():
        yield error("HOME_READ_ONLY", "home", f"{home}: {fault}", "set JOELCLAW_HOME to your own folder")
        return
    paths = [os.path.join(home, name) for name in ("", files.STORE, "sessions", "cache", "spool")]
    if path := next((path for path in paths if os.path.exists(path) and not os.access(path, os.W_OK)), ""):
        fix = f"chmod -R u+rwX {shlex.quote(home)}, as its owner; or set JOELCLAW_HOME to your own folder"
        yield error("HOME_READ_ONLY", "home", f"{path} cannot be written: nothing new is stored", fix)
    elif os.path.isdir(home) and shutil.disk_usage(home).free < 100_000:  # a turn may take more
        yield _finding("store", explained("STORE_FULL", home))
    damaged = [path for path in files.entries(home) if files.SET_ASIDE in os.path.basename(path)]
    for severity, code, paths, text, fix in (
        (warning, "MODES_OPEN", files.open_entries(home), "others can read {}", "joelclaw doctor --fix"),
        (note, "STALE_FILES", files.leftovers(home), "killed processes left {}", "joelclaw doctor --fix"),
        (note, "FILES_SET_ASIDE", damaged, "set aside as unreadable: {}", "check what they hold, then delete them"),
    ):
        if paths:
            shown = ", ".join(os.path.relpath(path, home) for path in paths[:3])
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            yield severity(code, "home", text.format(f"{shown}{more} in {home}"), fix)
    waiting = examination.facts["events"]["waiting"] = len(log.spooled_in(home))
    if _size(log.spool_path()) > log.MAX_SPOOL_BYTES:
        message = f"the spool is full: {waiting} events wait to be stored"
        yield warning("EVENTS_WAIT", "home", message, "joelclaw otel list")


def check_sessions(examination: Examination) -> Iterator[Finding]:
    """How many sessions have a state file, and how many of the newest of these files are damaged."""
    about = examination.facts["sessions"] = {"count": 0, "damaged": 0, "newest": None}
    try:
        times = state_times()
        states = list_states(nlargest(20, times, key=times.__getitem__))  # reading thousands would take seconds
        readable = [state for state in states if "problem" not in state]
        if readable:
            about["newest"] = {"sessionId": readable[0]["sessionId"], "at": clock.iso(readable[0]["updatedAt"])}
        set_aside = sum(files.SET_ASIDE in name for name in os.listdir(states_folder())) if times else 0
        about |= {"count": len(times), "damaged": len(states) - len(readable) + set_aside}
    except Failure as failure:
        yield _finding("home", failure)


def check_switches(examination: Examination) -> Iterator[Finding]:
    """Switches that are off here, and whether this folder is excluded."""
    about = examination.facts["switches"] = {"off": [], "excluded": []}
    try:
        known = examination.switches = switches.read()
    except switches.Damaged as damage:
        fix = "run `joelclaw on`, which sets the file aside; then repeat your `joelclaw off`"
        yield error("SWITCHES_DAMAGED", "switches", f"{switches.path()}: {damage}", fix)
        return
    about["excluded"] = known["excluded"]
    about["off"] = [
        {"scope": period["scope"], "name": period["name"], "since": clock.iso(period["since"])}
        for period in known["silences"]
        if period["until"] is None
    ]
    for path in sorted(glob(escape(switches.path()) + ".damaged-*")):
        message = f"{path} was damaged, so what it switched off is on again"
        fix = f"switch it off again (joelclaw off, exclude), then delete {path}"
        yield warning("SWITCHES_SET_ASIDE", "switches", message, fix)
    folder = os.getcwd()
    for period in switches.off_periods(known, "", folder):
        if period["until"] is None:
            what = "everything" if period["scope"] == "everywhere" else f"the project {period['name']}"
            message = f"{what} is switched off since {clock.iso(period['since'])}: hooks run and do nothing"
            yield warning("SWITCHED_OFF", "switches", message, f"joelclaw on --{period['scope']}")
    for excluded in known["excluded"]:
        if is_below(os.path.realpath(folder), excluded):
            message = f"{excluded} is excluded: sessions in this folder are never archived"
            fix = f"joelclaw exclude --remove {shlex.quote(excluded)}"
            yield warning("FOLDER_EXCLUDED", "switches", message, fix)


def check_model(examination: Examination) -> Iterator[Finding]:
    """Whether the model's command exists. It is not run: a model may cost money."""
    if examination.settings is None:
        return
    command = examination.settings.get_str("model.command").strip()
    with suppress(ValueError):  # not a command line
        if not command or find_program(os.path.expanduser(shlex.split(command)[0])):
            return
    message = f"model.command is `{command[:100]}`, which is no command that can be found: nothing is observed"
    yield error("MODEL_COMMAND_GONE", "model", message, "correct `command` in the table [model] of config.toml")


def check_cluster(examination: Examination) -> Iterator[Finding]:
    """Whether the cluster is set up, and documents are sent to it."""
    settings, store = examination.settings, examination.facts["store"]
    waiting = store["waiting"]
    if "error" not in store:
        yield from (
            warning(subject="cluster", **problem) for problem in cluster_sync.outbox_problems(waiting, store["backend"])
        )
    if settings is not None and (store["backend"] == "typesense" or waiting is not None):
        try:
            cluster.nodes(settings)
            cluster.api_key(settings)
        except Failure as failure:
            yield _finding("cluster", failure)


def check_exporter(examination: Examination) -> Iterator[Finding]:
    """Which collectors get events, and what keeps them from it. `status` prints nothing if export was never used."""
    examination.facts["otelExport"] = None
    if examination.settings is None:
        return
    status = export.status(examination.db, examination.settings)
    if status["mode"] != "off" or any(place["exported"] for place in status["destinations"]):
        examination.facts["otelExport"] = status
        yield from (warning(subject="exporter", **problem) for problem in export.problems(status))


def check_client(examination: Examination, client: Client) -> Iterator[Finding]:
    """The hooks of a client, tried and as they were called, and sessions that cannot be read."""
    result = doctor_hooks.Checked(client, project=examination.project)
    if not (examination.project or result.facts["installed"] or result.findings):
        of_project = doctor_hooks.Checked(client, project=True)
        result = of_project if of_project.facts["installed"] else result
    kept = transcript_files.find((), client.name, every=True) if client.session_file else []
    for reason, count in Counter(transcript_files.unreadable(kept).values()).items():
        message = f"{count} of {len(kept)} sessions cannot be archived: {reason}"
        fix = "afterwards run `joelclaw memory archive --all`"
        result.findings.append(warning("SESSIONS_UNREADABLE", client.name, message, fix))
    about, known = result.facts, examination.switches
    if examination.names or about["present"] or about["installed"] or result.findings:
        examination.clients[client.name] = about
        yield from result.findings
        periods = known["silences"] if known else []
        has_fault = any(finding.subject == "store" and finding.severity == "error" for finding in examination.findings)
        if examination.db is not None or not has_fault:  # else it is unknown which hooks ran
            yield from doctor_hooks.check_calls(result, examination.calls, periods, kept)


CHECKS: dict[Callable[[Examination], Iterator[Finding]], str] = {
    check_command: "command",
    check_settings: "settings",  # before those that depend on settings
    check_store: "store",  # before those that read the store
    check_project: "store",
    check_vectors: "store",
    check_home: "home",
    check_sessions: "home",
    check_switches: "switches",
    check_model: "model",
    check_cluster: "cluster",
    check_exporter: "exporter",
}
"""The checks of everything but the clients, and the subject of a fault in each."""


def _repair(examination: Examination) -> list[Finding]:
    """Make safe repairs. Returns a finding for each: `ok`, or a warning if it failed."""
    broken = {finding.subject for finding in examination.findings if finding.code in doctor_hooks.FIXABLE}
    repairs: list[tuple[str, str, Callable[[], str]]] = [
        ("HOOKS_ENTERED", name, partial(_install_again, name, examination.project))
        for name, about in examination.clients.items()
        if name in broken and (about["present"] or about["installed"])
    ]
    home = files.home()
    of_home: dict[str, Callable[[], str]] = {
        "MODES_OPEN": lambda: f"{counted(len(files.close_all(home)), 'path')} closed to other users",
        "STALE_FILES": lambda: f"{counted(files.sweep_temporary(home), 'leftover')} deleted",
    }
    codes = {finding.code for finding in examination.findings}
    repairs += [(code, "home", repair) for code, repair in of_home.items() if code in codes]
    done = []
    for code, subject, repair in repairs:
        try:
            done.append(Finding("ok", code, subject, repair()))
        except Failure as failure:
            done.append(warning("FIX_FAILED", subject, failure.message, failure.fix))
        except Exception as fault:
            message = f"it could not be repaired: {type(fault).__name__}: {fault}"
            done.append(warning("FIX_FAILED", subject, message, "report this as a bug"))
    return done


def _install_again(name: str, project: bool) -> str:
    with plan.locked():
        backups = plan.carry_out(plan.plans_for(settings_of(clients.by_name(name)), project=project))
    copy = next((f"; backup: {path}" for path in backups.values() if path), "")
    return f"our entries were rewritten in {', '.join(backups)}{copy}"


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size
    return 0
