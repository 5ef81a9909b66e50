"""Looks at all that a memory needs, from a client's hook to the collector, and mends what is safe to mend."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from clients import registry
from clients.client import Client
from core import config
from core.errors import Failure
from session import health
from session.doctor import home, hooks, repair, services
from session.doctor.finding import SEVERITIES, Finding, error, in_order, mended, warning
from session.doctor.hooks import Condition

_HEALTH: dict[str, str] = {
    "STORE": "store", "NO_VECTORS": "store", "NO_EMBEDDING": "store", "HOME": "home", "SWITCHES": "switches",
    "CONFIG": "settings", "PROJECT_FILE": "settings", "OTEL": "exporter", "TYPESENSE": "cluster",
}  # fmt: skip
"""How codes of `session.health` begin, and what they are about."""
_NO_ERRORS = ("NO_VECTORS", "PROJECT_FILE", "SWITCHES_SET_ASIDE", "OTEL", "TYPESENSE")
"""Those that something goes on without."""
_AT_ONCE = 4
_ORDER = ("command", "store", "home", "switches", "settings", "model", "cluster", "exporter")


def run(names: Sequence[str], *, project: bool, fix: bool) -> dict[str, Any]:
    """Examine; with `fix`, mend what is safe first, and tell of it among the findings as `ok`.

    Args:
        names: the clients to look at; without any those that are here, or in which joelclaw was installed.
        project: the entries of the project in the current folder, instead of the user's.
    """
    try:
        here = os.getcwd()
    except OSError:
        fix_it = "change into a folder that is there"
        raise Failure("DOCTOR_NO_FOLDER", "the current folder is gone", fix_it) from None
    if project and os.path.realpath(here) == os.path.realpath(os.path.expanduser("~")):
        fix_it = "run this in a project's folder, or without --project"
        raise Failure("DOCTOR_NO_PROJECT", f"{here} is the home of the user, no project", fix_it)
    found, clients, subjects = _examined(names, project=project)
    if fix:
        there = [name for name, about in clients.items() if about["present"] or about["installed"]]
        done = repair.run(found, there, project=project)
        if done:
            found, clients, subjects = _examined(names, project=project)
            found += done
    found = in_order(found, (*clients, *_ORDER))
    counts = {severity: sum(one.severity == severity for one in found) for severity in SEVERITIES}
    return {
        "healthy": not counts["error"],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "fixed": counts["ok"],
        "findings": [asdict(one) for one in found],
        "clients": clients,
        "subjects": {name: subjects[name] for name in _ORDER if name in subjects},
        "folder": here,
    }


def _examined(names: Sequence[str], *, project: bool) -> tuple[list[Finding], dict[str, Any], dict[str, Any]]:
    subjects: dict[str, Any] = {}
    opened = home.open_to_others()  # first: whatever is written next closes it
    known = health.read()
    found = [_of_health(problem) for problem in known["problems"] if not problem["code"].startswith("HOOK")]
    facts, more, calls = home.store()
    found += more
    subjects["store"] = {**facts, **{name: known["store"][name] for name in ("schema", "knownSchema")}}
    subjects["home"], more = home.examine()
    found += more
    if opened and not home.open_to_others():
        told = f"others could use {len(opened)} files or folders in {subjects['home']['path']}; now only you can"
        found.append(mended("MODES_OPEN", "home", told))
    subjects["switches"], more, silences = home.switched_off()
    found += more
    found += _services(subjects, known)
    clients = {}
    wanted = [client for client in registry.CLIENTS.values() if not names or client.name in names]
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each waits for the hooks that it calls
        conditions = list(pool.map(lambda client: _condition(client, project=project), wanted))
    for client, condition in zip(wanted, conditions, strict=True):
        about = condition.facts
        if not names and not (about["present"] or about["installed"] or condition.findings):
            continue
        found += condition.findings
        found += hooks.of_calls(client, calls, condition, silences)
        clients[client.name] = {**about, "events": hooks.events(client, calls)}
    return found, clients, subjects


def _condition(client: Client, *, project: bool) -> Condition:
    """How a client stands; whatever its files hold, the others are looked at, too."""
    try:
        return hooks.examine(client, project=project)
    except Exception as fault:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        about = f"it cannot be looked at: {type(fault).__name__}: {fault}"
        fix = "run it again with JOELCLAW_DEBUG=1 and report what it prints"
        return Condition(hooks.unknown(client, project=project), [error("NOT_EXAMINED", client.name, about, fix)])


def _of_health(problem: dict[str, str]) -> Finding:
    code = problem["code"]
    subject = next((subject for begin, subject in _HEALTH.items() if code.startswith(begin)), "settings")
    make = warning if code.startswith(_NO_ERRORS) else error
    return make(code, subject, problem["message"], problem["fix"])


def _services(subjects: dict[str, Any], known: dict[str, Any]) -> list[Finding]:
    subjects["settings"] = {"file": known["config"]["file"], "changed": sorted(known["config"]["changed"])}
    subjects["command"], found = services.command()
    try:
        settings = config.load()
    except Failure:  # health has told it
        return found
    for name, (facts, more) in {
        "model": services.model(settings),
        "cluster": services.cluster(settings, known["store"]["waiting"]),
        "exporter": services.exporter(settings, known["otelExport"]),
    }.items():
        subjects[name] = facts
        found += more
    return found
