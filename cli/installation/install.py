"""`joelclaw install` and `uninstall`: our part in the clients' own configuration."""

import os
import sys
from itertools import product
from typing import Any

import clients
from cli.answer import Answer, is_for_person, quoted, step
from cli.installation.view import difference
from cli.memory import archive, past_sessions
from cli.terminal import agreed
from core import files
from core.errors import Failure, usage
from core.process import extras
from session.install import plan, undo
from session.install.client_settings import Settings, settings_of
from session.install.plan import Plan

_CODE = "INSTALL_INVALID_ARGS"


def install(options: dict[str, Any]) -> Answer:
    """Put hooks, an extension or a plugin into the clients named; with `--list` say what is where."""
    if options["list"]:
        if options["agent"] or options["all"]:
            raise usage(_CODE, "--list takes no client", "leave the names and --all out")
        both = product(clients.rows(), (False, True))
        rows = [plan.installation_row(settings_of(client), project) for client, project in both]
        missing = " ".join(one["agent"] for one in rows[::2] if one["present"] and not one["current"])
        steps = [step(f"joelclaw install {missing}", "install what is missing or old")] if missing else []
        return Answer({"installs": rows}, steps)
    if options["mcp"] and not options["dry_run"] and extras.version("mcp") is None:
        wanted = extras.requirement("mcp", "mcp")
        about = f"the server needs the package {wanted!r}, which is not installed for {sys.executable}"
        raise Failure(plan.FAILED, about, f"run `{extras.command(wanted)}`, then this again; nothing was changed")
    answer = _change(options, "install")
    result: Any = answer.result
    if options["dry_run"] or "declined" in result:
        return answer
    told, actions = past_sessions.offer(archive.run, yes=options["yes"], no=options["no_archive"])
    return Answer({**result, **told}, [*actions, *answer.next_actions])


def uninstall(options: dict[str, Any]) -> Answer:
    """Take out what `install` put in, and leave the rest as it is; say where the memory is, which stays."""
    answer = _change(options, "uninstall")
    result: Any = answer.result
    home = files.home()
    if options["dry_run"] or "declined" in result or not os.path.isdir(home):
        return answer
    step_back = step(f"rm -r {quoted(home)}", "also delete the memory permanently")
    return Answer({**result, "memoryLeft": home}, [*answer.next_actions, step_back])


def _change(options: dict[str, Any], verb: str) -> Answer:
    chosen, skipped = _chosen(options, verb)
    result: dict[str, Any] = {"agents": [], "skipped": skipped, "dryRun": options["dry_run"]}
    whole, every = options["diff"], None
    if options["dry_run"] or (not options["yes"] and is_for_person()):
        every = _plans(chosen, options, verb)
        agents = result["agents"] = [_told(plans, verb, {}, whole=whole) for plans in every]
        if options["dry_run"]:
            return Answer(result)
        if any(one.changed for plans in every for one in plans):
            difference([file for one in agents for file in (one, *one["also"])], whole=whole)
            if not agreed(f"{verb}?"):
                return Answer({**result, "declined": True})
    changed: list[str] = []
    result["agents"] = []
    with plan.locked():
        for plans in every or _plans(chosen, options, verb):
            # Folders that were made for the first file go last.
            backups = plan.carry_out(plans if verb == "install" else plans[::-1], changed)
            result["agents"].append(_told(plans, verb, backups, whole=whole))
    steps = [step("joelclaw doctor", "check that its hooks are called")] if verb == "install" else []
    return Answer(result, [*steps, step("joelclaw install --list", "what is installed where")])


def _chosen(options: dict[str, Any], verb: str) -> tuple[list[Settings], list[dict[str, str]]]:
    names = list(dict.fromkeys(options["agent"]))
    if options["all"] and names:
        raise usage(_CODE, "--all and a name cannot be used together", "name some clients, or give --all alone")
    if names:
        return [settings_of(clients.row(name)) for name in names], []
    chosen, skipped = [], []
    for client in map(settings_of, clients.rows()):
        if verb == "install":
            meant, reason = client.present(), f"there is neither {client.client.home()} nor a command `{client.name}`"
        else:  # a file that cannot be read is told when it is to be changed
            meant, reason = plan.installation_row(client, options["project"])["installed"], "not installed"
        if meant is False:
            skipped.append({"agent": client.name, "reason": reason})
        else:
            chosen.append(client)
    if not options["all"]:
        found, where = [client.name for client in chosen], "found here" if verb == "install" else "installed"
        calls = " or ".join(f"`joelclaw {verb} {name}`" for name in (*found, *["--all"] * (len(found) > 1)))
        about = f"no agent was named; {where}: {', '.join(found) or 'none'}"
        raise usage(_CODE, about, f"run {calls}" if calls else f"name some of {', '.join(clients.NAMES)}")
    return chosen, skipped


def _plans(chosen: list[Settings], options: dict[str, Any], verb: str) -> list[list[Plan]]:
    """All plans, before anything is written: one file that is refused stops all."""
    more = {"mcp": options["mcp"]} if verb == "install" else {}
    plans_of = plan.installing if verb == "install" else plan.removing
    every = [plans_of(client, project=options["project"], **more) for client in chosen]
    plan.require_inside_project(one for plans in every for one in plans)
    return every


def _told(plans: list[Plan], verb: str, backups: dict[str, str | None], *, whole: bool) -> dict[str, Any]:
    first, *others = [_file(one, backups, whole=whole) for one in plans]
    notes = list(dict.fromkeys(note for one in plans for note in one.notes))
    if verb == "uninstall" and not notes and not any(one.changed for one in plans):
        notes = ["joelclaw was not installed there"]
    told = {
        "agent": plans[0].client.name,
        "scope": "project" if plans[0].project else "user",
        **first,
        "changed": any(one["changed"] for one in (first, *others)),
        "also": [one for one in others if one["changed"] or one["diff"]],
        "notes": notes,
    }
    if verb == "uninstall" and backups:
        told["backupsLeft"] = [name for one in plans for name in undo.useful_backups(one.path)]
    return told


def _file(one: Plan, backups: dict[str, str | None], *, whole: bool) -> dict[str, Any]:
    """What changes in a file; of one that comes or goes as a whole what it is, unless its text is wanted."""
    changed = one.changed and one.path in backups
    told = {"path": one.path, "changed": changed, "created": changed and one.before is None}
    told |= {"backup": backups.get(one.path), "diff": one.diff(whole=whole)}
    if one.is_whole_file and not whole:
        told |= {"bytes": len(one.after or one.before or b""), "what": one.purpose}
    return told
