"""`joelclaw install` and `uninstall`: our part in the clients' own configuration."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, step
from clients import registry
from core.errors import Failure, usage
from session.install import apply, listing, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from clients.settings import Settings
    from session.install.plan import Plan

    Wanted = Callable[[Settings, bool], str]  # why a client is left out of --all; empty: it is not

_CODE = "INSTALL_INVALID_ARGS"


def install(options: dict[str, Any]) -> Answer:
    """Put hooks, an extension or a plugin into the clients named; with `--list` say what is where.

    Raises:
        Failure: INSTALL_INVALID_ARGS, INSTALL_REFUSED, INSTALL_FAILED, INSTALL_BUSY or INSTALL_CHANGED.
    """
    if options["list"]:
        if options["agent"] or options["all"]:
            raise usage(_CODE, "--list shows every client", "leave the names and --all out")
        return Answer({"installs": listing.every()}, [step("joelclaw install --all", "install what is missing")])
    return _change(options, plan.installing, _present, "install")


def uninstall(options: dict[str, Any]) -> Answer:
    """Take out what `install` put in, and leave the rest as it is.

    Raises:
        Failure: as for `install`.
    """
    return _change(options, plan.removing, listing.installed, "uninstall")


def _change(options: dict[str, Any], planned: Callable[..., Plan], wanted: Wanted, verb: str) -> Answer:
    project = options["project"]
    chosen, skipped = _chosen(options, wanted)
    result: dict[str, Any] = {"agents": [], "skipped": skipped, "dryRun": options["dry_run"]}
    if options["dry_run"]:
        plans = _plans(chosen, planned, project)
        result["agents"] = [_shown(one, None, changed=False) for one in plans]
        return Answer(result)
    shown = None
    if not options["yes"] and _on_terminal():
        shown = _plans(chosen, planned, project)
        if not _agreed(shown, verb):
            result["agents"] = [_shown(one, None, changed=False) for one in shown]
            result["declined"] = True
            return Answer(result)
    with apply.locked():
        plans = _plans(chosen, planned, project)
        if shown is not None and [one.after for one in plans] != [one.after for one in shown]:
            raise Failure("INSTALL_CHANGED", "a file was changed while you read", "run this again")
        for one in plans:
            result["agents"].append(_shown(one, apply.carry_out(one), changed=one.changed))
    steps = [step("joelclaw otel search hook", "see the hooks that ran")] if verb == "install" else []
    return Answer(result, [*steps, step("joelclaw install --list", "what is installed where")])


def _chosen(options: dict[str, Any], wanted: Wanted) -> tuple[list[Settings], list[dict[str, str]]]:
    names = list(dict.fromkeys(options["agent"]))
    if options["all"] == bool(names):
        wrong = "both --all and a name were given" if names else "no agent was named"
        raise usage(_CODE, wrong, f"name some of {', '.join(registry.CLIENTS)}, or give --all alone")
    if names:
        return [registry.row(name).settings() for name in names], []
    clients = [client.settings() for client in registry.CLIENTS.values()]
    reasons = [(client, wanted(client, options["project"])) for client in clients]
    skipped = [{"agent": client.name, "reason": reason} for client, reason in reasons if reason]
    return [client for client, reason in reasons if not reason], skipped


def _present(client: Settings, _project: bool) -> str:
    return "" if client.present() else f"neither {client.home()} nor a command `{client.name}` is there"


def _plans(chosen: list[Settings], planned: Callable[..., Plan], project: bool) -> list[Plan]:
    """All plans, before anything is written: one file that is refused stops all."""
    return [planned(client, project=project) for client in chosen]


def _shown(one: Plan, backup: str | None, *, changed: bool) -> dict[str, Any]:
    return {
        "agent": one.client.name,
        "scope": "project" if one.project else "user",
        "path": one.path,
        "changed": changed,
        "created": changed and one.before is None,
        "backup": backup,
        "diff": one.diff(),
        "notes": one.notes,
    }


def _on_terminal() -> bool:
    return os.isatty(1) and "--json" not in sys.argv


def _agreed(plans: list[Plan], verb: str) -> bool:
    """Show the difference and ask; without one there is nothing to ask."""
    from cli.installation.view import difference

    if not any(one.changed for one in plans):
        return True
    difference([one.diff() for one in plans])
    sys.stdout.write(f"{verb}? [y/N] ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stdout.write("\n")
    return answer.strip().lower() in ("y", "yes")
