"""Looks at all that a memory needs, from a client's hook to the collector, and mends what is safe to mend."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clients import registry
from core import config
from core.errors import Failure
from session import health
from session.doctor import command, finding, history, home, hooks, repair, services
from session.doctor.finding import Finding
from session.doctor.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEALTH: dict[str, str] = {
    "STORE": "store", "NO_VECTORS": "store", "NO_EMBEDDING": "store", "HOME": "home", "SWITCHES": "switches",
    "CONFIG": "settings", "PROJECT_FILE": "settings", "OTEL": "exporter", "TYPESENSE": "cluster",
}  # fmt: skip
"""How codes of `session.health` begin, and what they are about."""
_NO_ERRORS = ("NO_VECTORS", "PROJECT_FILE", "SWITCHES_SET_ASIDE", "OTEL", "TYPESENSE")
"""Those that something goes on without."""
_ORDER = ("command", "store", "home", "switches", "settings", "model", "cluster", "exporter")


def run(names: Sequence[str], *, project: bool, fix: bool) -> dict[str, Any]:
    """Examine; with `fix`, mend what is safe first, and tell of it among the findings as `ok`.

    Args:
        names: the clients to look at; without any those that are here, or in which joelclaw was installed.
        project: the entries of the project in the current folder, instead of the user's.
    """
    result = _examined(names, project=project)
    if not fix:
        return result
    clients = [name for name, about in result["clients"].items() if about["present"] or about["installed"]]
    done = repair.run([Finding(**row) for row in result["findings"]], clients, project=project)
    if done:
        result = _examined(names, project=project)
        left = [Finding(**row) for row in result["findings"]]
        return _result([*left, *done], result["clients"], result["subjects"])
    return result


def _examined(names: Sequence[str], *, project: bool) -> dict[str, Any]:
    found: list[Finding] = []
    subjects: dict[str, Any] = {}
    known = health.read()
    found += [_of_health(problem) for problem in known["problems"] if not problem["code"].startswith("HOOK")]
    store = Store()
    found += store.findings
    subjects["store"] = {
        **store.facts,
        "schema": known["store"]["schema"],
        "knownSchema": known["store"]["knownSchema"],
    }
    subjects["home"], more = home.examine()
    found += more
    subjects["switches"], more, is_off = home.switched_off()
    found += more
    subjects["command"], more = command.examine()
    found += more
    found += _services(subjects, known)
    clients = {}
    for client in registry.CLIENTS.values():
        if names and client.name not in names:
            continue
        condition = hooks.examine(client, project=project)
        if not names and not (condition.facts["present"] or condition.facts["installed"] or condition.findings):
            continue
        condition.findings += history.findings(client, store.calls, condition, quiet=is_off)
        found += condition.findings
        clients[client.name] = {**condition.facts, "events": history.events(client, store.calls)}
    return _result(found, clients, subjects)


def _of_health(problem: dict[str, str]) -> Finding:
    code = problem["code"]
    subject = next((subject for begin, subject in _HEALTH.items() if code.startswith(begin)), "settings")
    severity = "warning" if code.startswith(_NO_ERRORS) else "error"
    return Finding(code, severity, subject, problem["message"], problem["fix"])  # type: ignore[arg-type]  # one of them


def _services(subjects: dict[str, Any], known: dict[str, Any]) -> list[Finding]:
    subjects["settings"] = {"file": known["config"]["file"], "changed": sorted(known["config"]["changed"])}
    try:
        settings = config.load()
    except Failure:  # health has told it
        return []
    found: list[Finding] = []
    for name, (facts, more) in {
        "model": services.model(settings),
        "cluster": services.cluster(settings, known["store"]["waiting"]),
        "exporter": services.exporter(settings, known["otelExport"]),
    }.items():
        subjects[name] = facts
        found += more
    return found


def _result(found: list[Finding], clients: dict[str, Any], subjects: dict[str, Any]) -> dict[str, Any]:
    unique = list({(one.code, one.subject, one.message): one for one in found}.values())
    damaged = {one.subject for one in unique if one.code == "STORE_DAMAGED"}
    if damaged:  # whoever reads the store says so, each in his words
        first = next(one for one in unique if one.code == "STORE_DAMAGED")
        unique = [one for one in unique if one.code != "STORE_DAMAGED" or one is first]
    counts = {
        severity: sum(one.severity == severity for one in unique) for severity in ("error", "warning", "note", "ok")
    }
    order = [*clients, *_ORDER]
    ordered = sorted(finding.worst_first(unique), key=lambda one: order.index(one.subject))
    return {
        "healthy": not counts["error"],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "fixed": counts["ok"],
        "findings": [one.row() for one in ordered],
        "clients": clients,
        "subjects": {name: subjects[name] for name in _ORDER if name in subjects},
        "folder": os.getcwd(),
    }
