"""`joelclaw doctor`: runs every check, and makes safe repairs.

A check is a function that yields findings and puts facts about its subject into `Examination.subjects`.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import clients
from core import VERSION, clock, files, home_files, switches
from core.errors import Failure
from core.store import sqlite, store_file
from core.store.events import Called
from otel import export, log
from session import own_command
from session.backup import archive
from session.doctor import facts, hooks
from session.doctor.facts import Facts, Finding, error, note, warning
from session.install import entries, plan
from session.install.client_settings import settings_of

FIXABLE_HOOKS = frozenset({
    plan.COMMAND_GONE, plan.NOT_EXECUTABLE, plan.INTERPRETER_GONE, "HOOKS_REMOVED",
    "HOOKS_MISSING", "HOOKS_OUTDATED", "HOOK_FAILS",
})  # fmt: skip
"""Installing again repairs these; a copy of the client's file is kept."""
FIXABLE = FIXABLE_HOOKS | {"MODES_OPEN", "STALE_FILES"}
SUBJECTS = ("command", "store", "home", "switches", "settings", "model", "cluster", "exporter")
LITTLE_DISK_BYTES = 200_000_000
HARDLY_ANY_DISK_BYTES = 20_000_000


@dataclass
class Examination:
    """The facts of `status`, what the checks have learned about each subject, and the clients to check."""

    facts: Facts
    names: Sequence[str]
    project: bool
    subjects: dict[str, dict[str, Any]] = field(default_factory=dict)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)


def run(names: Sequence[str] = (), *, project: bool = False, fix: bool = False) -> dict[str, Any]:
    """Run all checks. With `fix`, make safe repairs, check again, and add each repair as a finding `ok`.

    Raises Failure: DOCTOR_NO_FOLDER, DOCTOR_NO_PROJECT.
    """
    try:
        folder = os.getcwd()
    except OSError:
        raise Failure("DOCTOR_NO_FOLDER", "the current folder is gone", "change to a folder that exists") from None
    if project and os.path.realpath(folder) == os.path.realpath(os.path.expanduser("~")):
        message = f"{folder} is your home folder, not a project"
        raise Failure("DOCTOR_NO_PROJECT", message, "run this in a project's folder, or without --project")
    examination, findings = _examine(names, project=project)
    if fix:
        done = _repair(findings, examination)
        if done:
            examination, findings = _examine(names, project=project)
            findings += done
    findings = facts.sorted_findings(findings, (*examination.clients, *SUBJECTS))
    severities = {"errors": "error", "warnings": "warning", "notes": "note", "fixed": "ok"}
    counts = {name: sum(one.severity == severity for one in findings) for name, severity in severities.items()}
    return {
        "healthy": not counts["errors"],
        **counts,
        "findings": [asdict(finding) for finding in findings],
        "clients": examination.clients,
        "subjects": {name: examination.subjects[name] for name in SUBJECTS if name in examination.subjects},
        "folder": folder,
        "facts": examination.facts.status,
    }


def _examine(names: Sequence[str], *, project: bool) -> tuple[Examination, list[Finding]]:
    """Run all checks without writing to the home."""
    files.only_look.append(True)
    try:
        examination = Examination(facts.collect(), names, project)
        about = examination.facts.status
        examination.subjects["switches"] = about["switches"]
        examination.subjects["settings"] = {
            "file": about["config"]["file"],
            "changed": sorted(about["config"]["changed"]),
        }
        findings = list(examination.facts.findings)
        for check in CHECKS:
            try:
                findings += check(examination)
            except Failure as failure:
                findings.append(error(failure.code, "store", failure.message, failure.fix))
        return examination, findings
    finally:
        files.only_look.clear()


def check_command(examination: Examination) -> Iterator[Finding]:
    """Whether `joelclaw` on the PATH is this installation."""
    own, found = own_command.path(), shutil.which(own_command.NAME)
    examination.subjects["command"] = {"path": own, "version": VERSION, "onPath": found}
    if found is None or not own or os.path.realpath(found) == os.path.realpath(own):
        return
    message = f"`joelclaw` on the PATH is {found}; this is {own}, version {VERSION}"
    yield warning("PATH_COMMAND_OTHER", "command", message, "keep one of the two")


def check_store(examination: Examination) -> Iterator[Finding]:
    """Whether the store's file is intact, and its figures."""
    status, db = examination.facts.status["store"], examination.facts.db
    about = examination.subjects["store"] = {name: status[name] for name in ("path", "exists", "schema", "knownSchema")}
    if db is None:
        return
    path = sqlite.path()
    if faults := store_file.faults(db):
        fix = (
            "with a backup: `joelclaw restore FILE --force` (the current data is set aside); without one, save what is "
            f"left with `joelclaw memory export`, move {path} away, and import it again"
        )
        yield error("STORE_DAMAGED", "store", f"{path} is damaged: {'; '.join(faults)}", fix)
    figures = store_file.figures(db)
    newest = figures.newest or 0
    about |= {**asdict(figures), "newest": clock.iso(newest) if newest else None}


def check_home(examination: Examination) -> Iterator[Finding]:
    """The disk of the home, the modes of its files, leftovers, and a full spool."""
    home = folder = files.home()
    about: dict[str, Any] = {"path": home, "exists": os.path.isdir(home), "freeBytes": None}
    examination.subjects["home"] = about
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    with suppress(OSError):
        disk = os.statvfs(folder)
        free = about["freeBytes"] = disk.f_bavail * disk.f_frsize
        if free <= LITTLE_DISK_BYTES:
            severity = error if free < HARDLY_ANY_DISK_BYTES else warning
            message = f"the disk of {folder} has {free / 1_000_000:,.0f} MB left"
            yield severity("DISK_LOW", "home", message, "free some space: what cannot be written is lost")
    entries = list(_entries(home))
    is_user_folder = os.path.realpath(home) == os.path.realpath(os.path.expanduser("~"))
    readable = [path for path, status in entries if status.st_mode & files.OTHERS and not is_user_folder]
    damaged = [path for path, _ in entries if ".damaged-" in os.path.basename(path)]
    leftovers = home_files.stale_temporary(home) + archive.leftovers()
    for severity, code, paths, text, fix in (
        (warning, "MODES_OPEN", readable, "others can read {}", "joelclaw doctor --fix"),
        (note, "STALE_FILES", leftovers, "killed processes left {}", "joelclaw doctor --fix"),
        (note, "FILES_SET_ASIDE", damaged, "{} were damaged and set aside", "look at them, then delete them"),
    ):
        if paths:
            shown = ", ".join(os.path.relpath(path, home) for path in paths[:3])
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            yield severity(code, "home", text.format(f"{shown}{more} in {home}"), fix)
    waiting = log.spooled_in(home)
    about["spooledEvents"] = len(waiting)
    if len(files.start_of(log.spool_path(), log.MAX_SPOOL_BYTES * 2)) > log.MAX_SPOOL_BYTES:
        message = f"the spool is full: {len(waiting)} events wait to be stored"
        yield warning("EVENTS_WAIT", "home", message, "joelclaw otel list")


def check_switches(examination: Examination) -> Iterator[Finding]:
    """Switches that are off here, and whether this folder is excluded."""
    known, folder = examination.facts.switches, os.getcwd()
    if known is None:
        return
    for period in switches.off_periods(known, "", folder):
        if period["until"] is None:
            what = "everything" if period["scope"] == switches.EVERYWHERE else f"the project {period['name']}"
            message = f"{what} is switched off since {clock.iso(period['since'])}: hooks run and do nothing"
            yield warning("SWITCHED_OFF", "switches", message, f"joelclaw on --{period['scope']}")
    if switches.is_excluded(known, folder):
        excluded = next(path for path in known["excluded"] if os.path.realpath(folder).startswith(path))
        message = f"{excluded} is excluded: sessions in this folder are never archived"
        fix = f"joelclaw exclude --remove {shlex.quote(excluded)}"
        yield warning("FOLDER_EXCLUDED", "switches", message, fix)


def check_model(examination: Examination) -> Iterator[Finding]:
    """Whether the model's command exists. It is not run: a model may cost money."""
    if examination.facts.settings is None:
        return
    command = examination.facts.settings.get_str("model.command").strip()
    examination.subjects["model"] = {"used": bool(command), "command": command or None}
    message = ""
    try:
        program = shlex.split(command)[0] if command else ""
        if program and shutil.which(program) is None:
            message = f"the model's command `{program}` does not exist, so nothing is observed"
    except (ValueError, IndexError):
        message = f"model.command is not a command line: {command[:100]}"
    if message:
        yield error("MODEL_COMMAND_GONE", "model", message, "correct `command` in the table [model] of config.toml")


def check_cluster(examination: Examination) -> Iterator[Finding]:
    """Whether each node answers. `facts` reports documents that wait."""
    settings, waiting = examination.facts.settings, examination.facts.status["store"]["waiting"]
    if settings is None:
        return
    is_used = settings.get_str("store.backend") == "typesense" or waiting is not None
    about: dict[str, Any] = {"used": is_used, "nodes": [], "waiting": waiting}
    examination.subjects["cluster"] = about
    if not is_used:
        return
    from core.store.cluster import client

    try:
        nodes = client.nodes(settings)
        client.api_key(settings)
    except Failure as failure:
        yield error(failure.code, "cluster", failure.message, failure.fix)
        return
    for url in nodes:
        reason = ""
        try:
            client.SearchClient([url], "", limit_s=2.0).ping()
        except Failure as failure:
            reason = failure.message.rpartition(": ")[2]
        about["nodes"].append({"url": url, "answers": not reason})
        if reason:
            message = f"{url} does not answer ({reason}); writes wait here and recall reads the local file"
            yield warning("CLUSTER_UNREACHABLE", "cluster", message, "check the node, then `joelclaw store push`")


def check_exporter(examination: Examination) -> Iterable[Finding]:
    """Which collectors get events. `facts` reports what keeps them from it."""
    if examination.facts.settings is None:
        return ()
    mode = examination.facts.settings.get_str("otel.export")
    places = (examination.facts.status["otelExport"] or {}).get("destinations", [])
    is_used = mode == "auto" and not export.is_disabled()
    examination.subjects["exporter"] = {"used": is_used, "mode": mode, "destinations": places}
    return ()


def check_clients(examination: Examination) -> Iterator[Finding]:
    """The hooks of each client: their installation, a test run, and their recent calls."""
    names = examination.names
    calls: list[Called] = []
    with suppress(Failure):  # `check_store` reports it
        calls = hooks.calls(examination.facts.db, clock.now_ms() - clock.DAY_MS)
    known = examination.facts.switches
    rows = [client for client in clients.rows() if not names or client.name in names]
    for row in rows:
        result = hooks.check(row, project=examination.project)
        about = result.facts
        if names or about["present"] or about["installed"] or result.findings:
            yield from result.findings
            yield from hooks.check_calls(row, calls, result, known["silences"] if known else [])
            examination.clients[row.name] = {**about, "events": hooks.events(row, calls)}


CHECKS: tuple[Callable[[Examination], Iterable[Finding]], ...] = (
    check_command,
    check_store,
    check_home,
    check_switches,
    check_model,
    check_cluster,
    check_exporter,
    check_clients,
)


def _repair(findings: Sequence[Finding], examination: Examination) -> list[Finding]:
    """Make safe repairs. Returns a finding for each: `ok`, or a warning if it failed."""
    codes = {finding.code for finding in findings}
    broken = {finding.subject for finding in findings if finding.code in FIXABLE_HOOKS}
    repairs: list[tuple[str, str, Callable[[], str]]] = [
        ("HOOKS_ENTERED", name, partial(_install_again, name, examination.project))
        for name, about in examination.clients.items()
        if name in broken and (about["present"] or about["installed"])
    ]
    for code, subject, repair in (
        ("MODES_OPEN", "home", _close_modes),
        ("STALE_FILES", "home", _delete_leftovers),
    ):
        repairs += [(code, subject, repair)] if code in codes else []
    done = []
    for code, subject, repair in repairs:
        try:
            done.append(Finding("ok", code, subject, repair()))
        except Failure as failure:
            done.append(warning("FIX_FAILED", subject, failure.message, failure.fix))
    return done


def _install_again(name: str, project: bool) -> str:
    changed: list[str] = []
    entries.executable()
    with plan.locked():
        plans = plan.installing(settings_of(clients.row(name)), project=project)
        plan.require_inside_project(plans)
        backups = plan.carry_out(plans, changed)
    backup = next((f"; backup: {path}" for path in backups.values() if path), "")
    return f"our entries were rewritten in {', '.join(changed)}{backup}"


def _close_modes() -> str:
    return f"{len(home_files.close_all(files.home()))} files and folders are now readable only by you"


def _delete_leftovers() -> str:
    return f"{home_files.sweep_temporary(files.home()) + archive.sweep()} leftovers were deleted"


def _entries(home: str) -> Iterator[tuple[str, os.stat_result]]:
    """The files and folders of the home, without links."""
    for path in home_files.entries(home):
        with suppress(OSError):  # deleted meanwhile
            if not os.path.islink(path):
                yield path, os.lstat(path)
