"""What a memory may lean on: the user's model, a cluster, a collector. Where one is not in use, nothing is asked."""

from __future__ import annotations

import shlex
import shutil
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from core import clock
from core.errors import Failure
from core.store.typesense import connection
from core.store.typesense.transport import NoAnswerError, Transport
from otel.otlp import destination
from session.doctor.finding import Finding, error, warning

if TYPE_CHECKING:
    from core.config import Config

    Examined = tuple[dict[str, Any], list[Finding]]

_LONGEST_S = 2.0
_LATE_MS = clock.HOUR_MS


def model(settings: Config) -> Examined:
    """Whether the command of the settings is there. It is not called: a model may cost money."""
    line = settings.text("model.command").strip()
    facts = {"used": bool(line), "command": line or None}
    if not line:
        return facts, []
    try:
        program = shlex.split(line)[0]
    except (ValueError, IndexError):
        about = f"model.command is no command line: {line[:100]}"
        return facts, [
            error("MODEL_COMMAND_GONE", "model", about, "correct `command` in the table [model] of config.toml")
        ]
    if shutil.which(program) is not None:
        return facts, []
    about = f"the model's command `{program}` is not there, so nothing is observed"
    return facts, [error("MODEL_COMMAND_GONE", "model", about, "correct `command` in the table [model] of config.toml")]


def cluster(settings: Config, waiting: dict[str, Any] | None) -> Examined:
    """Whether each node answers, and whether documents wait for long.

    Args:
        waiting: what `core.store.replication.status` says; None where there is no outbox.
    """
    used = settings.text("store.backend") == "typesense" or waiting is not None
    facts: dict[str, Any] = {"used": used, "nodes": [], "waiting": waiting}
    if not used:
        return facts, []
    found = []
    try:
        nodes = connection.nodes(settings)
        connection.key(settings)
    except Failure as failure:
        return facts, [error(failure.code, "cluster", failure.message, failure.fix)]
    for url in nodes.urls:
        why = _silence(connection.Nodes(url))
        facts["nodes"].append({"url": url, "answers": not why})
        if why:
            about = f"{url} does not answer ({why}); what is written waits here, and recall reads the local file"
            found.append(
                warning("CLUSTER_UNREACHABLE", "cluster", about, "see to the node, then `joelclaw store sync`")
            )
    oldest = clock.parse_iso(waiting["oldest"]) if waiting and waiting["oldest"] else None
    if waiting and oldest is not None and clock.now_ms() - oldest > _LATE_MS:
        count = waiting["documents"] + waiting["events"]
        about = f"{count:,} documents and events wait for the cluster, the oldest since {waiting['oldest']}"
        found.append(warning("OUTBOX_WAITS", "cluster", about, "joelclaw store sync"))
    return facts, found


def _silence(nodes: connection.Nodes) -> str:
    """Why a node does not answer; "" where it does, healthy or not."""
    transport = Transport(nodes, "", _LONGEST_S)
    try:
        status, _ = transport.request("GET", "/health")
    except NoAnswerError as failure:
        return str(failure)
    finally:
        transport.close()
    return "" if status < 500 else f"status {status}"


def exporter(settings: Config, about: dict[str, Any] | None) -> Examined:
    """Whether events get to where they are to go.

    Args:
        about: what `otel.otlp.destination.status` says; None where nothing was ever exported.
    """
    mode = settings.text("otel.export")
    used = mode == "auto" and not destination.disabled()
    facts: dict[str, Any] = {"used": used, "mode": mode, "destinations": (about or {}).get("destinations", [])}
    if not used:
        return facts, []
    found = []
    for place in facts["destinations"]:
        if not place["current"]:
            continue
        last = clock.parse_iso(place["lastExportAt"]) if place["lastExportAt"] else None
        if place["waiting"] and last is not None and clock.now_ms() - last > _LATE_MS:
            told = f"{place['waiting']:,} events wait for {place['endpoint']}: none went since {place['lastExportAt']}"
            found.append(warning("EXPORT_BEHIND", "exporter", told, "joelclaw otel export"))
    endpoints = [urlsplit(place["endpoint"]) for place in facts["destinations"] if place["current"]]
    for scheme, address in dict.fromkeys((one.scheme, one.netloc) for one in endpoints):
        why = _refusal(f"{scheme}://{address}")
        if why:
            told = f"{scheme}://{address} cannot be reached ({why}); events wait here"
            fix = "see to the collector, then `joelclaw otel export`"
            found.append(warning("EXPORT_UNREACHABLE", "exporter", told, fix))
    return facts, found


def _refusal(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), _LONGEST_S).close()
    except OSError as fault:
        return fault.strerror or str(fault)
    return ""
