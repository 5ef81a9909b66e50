"""`joelclaw install` and `uninstall`: our part in the clients' own configuration."""

from __future__ import annotations

import os
import sys
from typing import Any

from cli.answer import Answer, step
from cli.installation.view import difference, told
from clients import registry
from clients.settings import Settings
from core.errors import Failure, usage
from session.install import apply, backups, installed_hooks, mcp_package, plan
from session.install.plan import Plan

_CODE = "INSTALL_INVALID_ARGS"


def install(options: dict[str, Any]) -> Answer:
    """Put hooks, an extension or a plugin into the clients named; with `--list` say what is where."""
    if options["list"]:
        if options["agent"] or options["all"]:
            raise usage(_CODE, "--list shows every client", "leave the names and --all out")
        every = [client.settings() for client in registry.CLIENTS.values()]
        rows = [installed_hooks.listed(client, project) for client in every for project in (False, True)]
        return Answer({"installs": rows}, [step("joelclaw install --all", "install what is missing")])
    if options["mcp"] and not options["dry_run"] and not mcp_package.is_here():
        mcp_package.install()
    return _change(options, "install")


def uninstall(options: dict[str, Any]) -> Answer:
    """Take out what `install` put in, and leave the rest as it is."""
    return _change(options, "uninstall")


def _change(options: dict[str, Any], verb: str) -> Answer:
    chosen, skipped = _chosen(options, verb)
    result: dict[str, Any] = {"agents": [], "skipped": skipped, "dryRun": options["dry_run"]}
    whole = options["diff"]
    shown = None
    if options["dry_run"] or (not options["yes"] and _on_terminal()):
        shown = _plans(chosen, options, verb)
        if options["dry_run"] or not _agreed([one for plans in shown for one in plans], verb, whole):
            result["agents"] = [_shown(plans, {}, whole) for plans in shown]
            return Answer(result if options["dry_run"] else {**result, "declined": True})
    with apply.locked():
        every = _plans(chosen, options, verb)
        if shown is not None and _after(every) != _after(shown):
            raise Failure("INSTALL_CHANGED", "a file was changed while you read", "run this again")
        changed: list[str] = []
        for plans in every:
            # Folders that were made for the first file go last.
            told = _shown(plans, apply.carry_out(plans if verb == "install" else plans[::-1], changed), whole)
            if verb == "uninstall":
                told["backupsLeft"] = [name for one in plans for name in backups.left(one.path)]
            result["agents"].append(told)
    steps = [step("joelclaw otel search hook", "see the hooks that ran")] if verb == "install" else []
    return Answer(result, [*steps, step("joelclaw install --list", "what is installed where")])


def _chosen(options: dict[str, Any], verb: str) -> tuple[list[Settings], list[dict[str, str]]]:
    """The clients that are meant, and those that `--all` leaves out."""
    names = list(dict.fromkeys(options["agent"]))
    if options["all"] == bool(names):
        wrong = "both --all and a name were given" if names else "no agent was named"
        raise usage(_CODE, wrong, f"name some of {', '.join(registry.CLIENTS)}, or give --all alone")
    if names:
        return [registry.row(name).settings() for name in names], []
    chosen, skipped = [], []
    for client in (client.settings() for client in registry.CLIENTS.values()):
        if verb == "uninstall":
            reason = installed_hooks.why_not_there(client, options["project"])
        else:
            here = f"neither {client.home()} nor a command `{client.name}` is there"
            reason = "" if client.present() else here
        if reason:
            skipped.append({"agent": client.name, "reason": reason})
        else:
            chosen.append(client)
    return chosen, skipped


def _plans(chosen: list[Settings], options: dict[str, Any], verb: str) -> list[list[Plan]]:
    """All plans, before anything is written: one file that is refused stops all."""
    project = options["project"]
    if verb == "install":
        every = [plan.installing(client, project=project, mcp=options["mcp"]) for client in chosen]
    else:
        every = [plan.removing(client, project=project) for client in chosen]
    plan.stay_in_project(one for plans in every for one in plans)
    return every


def _after(every: list[list[Plan]]) -> list[bytes | None]:
    return [one.after for plans in every for one in plans]


def _shown(plans: list[Plan], backups: dict[str, str | None], whole: bool) -> dict[str, Any]:
    """What was done for a client, or would be."""
    first, *others = [_file(one, backups, whole) for one in plans]
    notes = [note for one in plans for note in one.notes]
    changed = any(one["changed"] for one in (first, *others))
    return {
        "agent": plans[0].client.name,
        "scope": "project" if plans[0].project else "user",
        **first,
        "changed": changed,
        "also": [one for one in others if one["changed"] or one["diff"]],
        "notes": [note for note in dict.fromkeys(notes) if note != plan.NOTHING or not any(p.changed for p in plans)],
    }


def _file(one: Plan, backups: dict[str, str | None], whole: bool) -> dict[str, Any]:
    """What changes in a file; of one that comes or goes as a whole what it is, unless its text is wanted."""
    short = one.is_whole and not whole
    changed = one.changed and one.path in backups
    return {
        "path": one.path,
        "changed": changed,
        "created": changed and one.before is None,
        "backup": backups.get(one.path),
        "diff": one.diff(whole=whole),
        **({"bytes": len(one.after or one.before or b""), "what": one.what} if short else {}),
    }


def _on_terminal() -> bool:
    return os.isatty(1) and "--json" not in sys.argv


def _agreed(plans: list[Plan], verb: str, whole: bool) -> bool:
    """Show the difference and ask; without one there is nothing to ask."""
    if not any(one.changed for one in plans):
        return True
    difference([told(_file(one, {}, whole)) for one in plans])
    sys.stdout.write(f"{verb}? [y/N] ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stdout.write("\n")
    return answer.strip().lower() in ("y", "yes")
