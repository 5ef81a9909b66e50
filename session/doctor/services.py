"""What a memory may lean on, where it is in use: the command on the PATH, the user's model, a cluster, a collector."""

import os
import re
import shlex
import shutil
import socket
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from core import VERSION, clock, config
from core.config import Config
from core.errors import Failure
from core.process.command import Command
from core.store.cluster import client
from core.store.cluster.client import SearchClient
from otel.export import is_disabled
from session import own_command
from session.doctor.status import Finding, error, note, warning

Examined = tuple[dict[str, Any], list[Finding]]
_LONGEST_S = 2.0
_LONGEST_START_S = 5.0


def examine(known: dict[str, Any]) -> dict[str, Examined]:
    """Facts and findings by subject, going by what `status` tells; without settings of the command alone."""
    found = {"command": _command()}
    try:
        settings = config.load()
    except Failure:  # told where the settings are
        return found
    return found | {
        "model": _model(settings.get_str("model.command").strip()),
        "cluster": _cluster(settings, known["store"]["waiting"]),
        "exporter": _exporter(settings.get_str("otel.export"), known["otelExport"]),
    }


def _command() -> Examined:
    own, found = own_command.path(), shutil.which(own_command.NAME)
    facts: dict[str, Any] = {"path": own, "version": VERSION, "onPath": found, "onPathVersion": None}
    if found is None or not own or os.path.realpath(found) == os.path.realpath(own):
        return facts, []
    theirs = facts["onPathVersion"] = version_of(found)
    about = f"`joelclaw` on the PATH is {found}, version {theirs or 'not told'}; what runs is {own}, {VERSION}"
    numbers, ours = (tuple(map(int, re.findall(r"\d+", version))) for version in (theirs, VERSION))
    if not numbers:
        fix = f"delete {found} or reinstall joelclaw there"
        return facts, [warning("PATH_COMMAND_BROKEN", "command", about, fix)]
    if numbers < ours:
        fix = f"update it, or put {os.path.dirname(own)} before {os.path.dirname(found)} on the PATH"
        return facts, [warning("PATH_COMMAND_OLDER", "command", f"it is an older version: {about}", fix)]
    return facts, [note("PATH_COMMAND_OTHER", "command", about, "keep one of the two")]


def version_of(path: str) -> str:
    """The version that a joelclaw says it has; "" where it says none within 5 s."""
    ended = Command([path, "--version"], seconds=_LONGEST_START_S).run()
    words = ended.output.decode("utf-8", "replace").split()
    return words[1] if ended.status == 0 and words[:1] == [own_command.NAME] and len(words) > 1 else ""


def _model(line: str) -> Examined:
    """Whether the command of the settings is there. It is not called: a model may cost money."""
    facts = {"used": bool(line), "command": line or None}
    if not line:
        return facts, []
    try:
        program = shlex.split(line)[0]
        about = f"the model's command `{program}` does not exist, so nothing is observed"
        if shutil.which(program) is not None:
            return facts, []
    except (ValueError, IndexError):
        about = f"model.command is not a command line: {line[:100]}"
    return facts, [error("MODEL_COMMAND_GONE", "model", about, "correct `command` in the table [model] of config.toml")]


def _cluster(settings: Config, waiting: dict[str, Any] | None) -> Examined:
    """Whether each node answers, and whether documents wait for long; `waiting` is None where there is no outbox."""
    used = settings.get_str("store.backend") == "typesense" or waiting is not None
    facts: dict[str, Any] = {"used": used, "nodes": [], "waiting": waiting}
    if not used:
        return facts, []
    try:
        nodes = client.nodes(settings)
        client.api_key(settings)
    except Failure as failure:
        return facts, [error(failure.code, "cluster", failure.message, failure.fix)]
    found = []
    for url in nodes:
        why = ""
        try:
            with closing(SearchClient([url], "", limit_s=_LONGEST_S)) as asked:
                asked.ping()  # healthy or not
        except Failure as failure:
            why = failure.message.rpartition(": ")[2]
        facts["nodes"].append({"url": url, "answers": not why})
        if why:
            about = f"{url} does not answer ({why}); writes wait here and recall reads the local file"
            fix = "check the node, then `joelclaw store push`"
            found.append(warning("CLUSTER_UNREACHABLE", "cluster", about, fix))
    if waiting and _is_late(waiting["oldest"]):
        count = waiting["documents"] + waiting["events"]
        about = f"{count:,} documents and events wait for the cluster, the oldest since {waiting['oldest']}"
        found.append(warning("OUTBOX_WAITS", "cluster", about, "joelclaw store push"))
    return facts, found


def _exporter(mode: str, about: dict[str, Any] | None) -> Examined:
    """Whether events get to where they are to go; `about` is None where nothing was ever exported."""
    used, places = mode == "auto" and not is_disabled(), (about or {}).get("destinations", [])
    current = [place for place in places if place["current"]] if used else []
    found = []
    for place in current:
        if place["waiting"] and _is_late(place["lastExportAt"]):
            told = f"{place['waiting']:,} events wait for {place['endpoint']}: none sent since {place['lastExportAt']}"
            found.append(warning("EXPORT_BEHIND", "exporter", told, "joelclaw otel export"))
    for scheme, host in dict.fromkeys(urlsplit(place["endpoint"])[:2] for place in current):
        parts = urlsplit(f"//{host}")
        try:
            port = parts.port or (443 if scheme == "https" else 80)
            socket.create_connection((parts.hostname or "", port), _LONGEST_S).close()
        except OSError as fault:
            told = f"{scheme}://{host} cannot be reached ({fault.strerror or fault}); events wait here"
            fix = "check the collector, then `joelclaw otel export`"
            found.append(warning("EXPORT_UNREACHABLE", "exporter", told, fix))
    return {"used": used, "mode": mode, "destinations": places}, found


def _is_late(since: str | None) -> bool:
    at = clock.parse_iso(since) if since else None
    return at is not None and clock.now_ms() - at > clock.HOUR_MS
