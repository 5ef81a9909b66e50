"""`joelclaw off` and `on`, and `exclude`: folders whose sessions are never archived."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from core import clock, config, project
from core.errors import Failure, usage
from core.repository import switches
from core.store import sqlite
from core.store.sessions import session_rows
from otel import log
from otel.event import new_event
from session.state import state_file

if TYPE_CHECKING:
    from core.envelope import NextAction

CODE = "SWITCH_INVALID_ARGS"
_MOST_SHOWN = 20


def off(options: dict[str, Any]) -> Answer:
    """`joelclaw off`."""
    scope, name, chosen_by = _meant(options)
    aside = switches.sound()[1]
    since, changed = switches.turn_off(scope, name)
    if changed:
        _record("switch.off", scope, name)
    result = {**_shown(since), "off": True, "changed": changed, "chosenBy": chosen_by, **_aside(aside)}
    return Answer(result, [step(_command("on", scope, name), "take it up again")])


def on(options: dict[str, Any]) -> Answer:
    """`joelclaw on`; the answer also has what is still off."""
    scope, name, chosen_by = _meant(options)
    aside = switches.sound()[1]
    changed = switches.turn_on(scope, name)
    if changed:
        _record("switch.on", scope, name)
    left = [one for one in switches.sound()[0]["silences"] if one["until"] is None]
    result = {
        "scope": scope, "name": name, "off": False, "changed": changed, "chosenBy": chosen_by,
        "stillOff": [_shown(one) for one in left], **_aside(aside),
    }  # fmt: skip
    actions: list[NextAction] = [step(_command("on", one["scope"], one["name"]), "this is still off") for one in left]
    return Answer(result, actions[:5])


def _meant(options: dict[str, Any]) -> tuple[switches.Scope, str, str]:
    """What is switched, its name, and who chose it: `flag`, `session` (the one around the command) or `folder`."""
    given = (options["session"] or "").strip()
    if (options["session"] is not None) + options["project"] + options["everywhere"] > 1:
        raise usage(CODE, "--session, --project and --everywhere exclude each other", "give one of them")
    if options["session"] is not None and not given:
        raise usage(CODE, "--session names no session", "give its id")
    if options["everywhere"]:
        return switches.EVERYWHERE, "", "flag"
    if given:
        return switches.SESSION, state_file.identity(given), "flag"
    around = session_around()
    if around and not options["project"]:
        return switches.SESSION, state_file.identity(around), "session"
    name = _project_here()
    if not name:
        raise Failure(
            "SWITCH_NO_SCOPE",
            "no session is around the command, and the current folder is no project's",
            "go to a folder of the project, or give --session ID or --everywhere",
        )
    return switches.PROJECT, name, "flag" if options["project"] else "folder"


def _project_here() -> str:
    try:
        return project.name_of(os.getcwd())
    except OSError:  # the folder is gone
        return ""


def _shown(one: switches.Silence) -> dict[str, Any]:
    return {"scope": one["scope"], "name": one["name"], "since": clock.iso(one["since"])}


def _aside(path: str) -> dict[str, str]:
    """Where a damaged file was set aside to: what was off before is not known any more."""
    return {"setAside": path} if path else {}


def _command(word: str, scope: switches.Scope, name: str) -> str:
    flag = f"--session {quoted(name)}" if scope == switches.SESSION else f"--{scope}"
    return f"joelclaw {word} {flag}"


def _record(action: str, scope: switches.Scope, name: str) -> None:
    about = {"scope": scope, "name": name}
    event = new_event(action, source="cli", component="switch", metadata=about, now=clock.now_ms())
    log.try_append(None, [event], config.load())


def exclude(options: dict[str, Any]) -> Answer:
    """Exclude a folder, or no more; or list those that are excluded."""
    if (options["folder"] is not None) + options["list"] + (options["remove"] is not None) > 1:
        raise usage(CODE, "FOLDER, --list and --remove exclude each other", "give one of them")
    if options["list"]:
        return Answer({"excluded": switches.sound()[0]["excluded"]})
    if options["remove"] is not None:
        return _included(options["remove"])
    folder = options["folder"] or "."
    path = os.path.realpath(folder)
    if not os.path.isdir(path):
        raise Failure("EXCLUDE_NO_FOLDER", f"there is no folder {folder}", "name a folder that is there")
    changed = switches.exclude(path)
    found = _archived(path, os.path.abspath(folder))
    actions: list[NextAction] = [
        step(f"joelclaw memory forget --session {quoted(session)}", "forget what was archived of it before")
        for session in found[:_MOST_SHOWN]
    ]
    actions.append(step(f"joelclaw exclude --remove {quoted(path)}", "archive its sessions again"))
    return Answer({"path": path, "excluded": True, "changed": changed, "archivedBefore": found}, actions)


def _included(folder: str) -> Answer:
    known = switches.sound()[0]["excluded"]
    path = next((one for one in (os.path.realpath(folder), folder.rstrip("/")) if one in known), "")
    if not path:
        raise Failure("EXCLUDE_NOT_EXCLUDED", f"{folder} is not excluded", "see joelclaw exclude --list")
    changed = switches.include(path)
    return Answer(
        {"path": path, "excluded": False, "changed": changed, "archivedBefore": []},
        [step("joelclaw memory archive --all", "take in what was left out meanwhile")],
    )


def _archived(*folders: str) -> list[str]:
    """The sessions that are archived of repositories in these folders, the one that did something last first."""
    try:
        db = sqlite.open_reading()
        return session_rows.sessions_below(db, dict.fromkeys(folders)) if db is not None else []
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
