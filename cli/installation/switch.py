"""`joelclaw off`, `on`, `exclude` and `trust`: what is left alone, and whose files may choose like the user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from core import clock, config, project
from core.errors import Failure, usage
from core.repository import switches
from core.repository import trust as trusted
from core.repository.settings_file import choices
from core.store import sqlite
from core.store.sessions import session_rows
from otel import log
from otel.event import new_event
from session.state import state_file

if TYPE_CHECKING:
    from core.envelope import NextAction

_CODE = "SWITCH_INVALID_ARGS"
_MOST_SHOWN = 20
_LET_IN = (
    "what its files choose (queries, scores, scopes, descriptions) is recalled from all that is global, too, now and"
    " whatever is added to them later; what deletes, is run, or says where things are sent stays yours"
)
_NOT_LET_IN = "what its files choose is recalled from its own memories alone"


def off(options: dict[str, Any]) -> Answer:
    """Leave a session, a project or everything alone."""
    scope, name, chosen_by = _meant(options)
    aside = switches.sound()[1]
    since, changed = switches.turn_off(scope, name)
    result = {**_shown(since), "off": True, "changed": changed, "chosenBy": chosen_by}
    return _switched("switch.off", result, aside, [step(_on(scope, name), "take it up again")])


def on(options: dict[str, Any]) -> Answer:
    """Take it up again; the answer also has what is still off."""
    scope, name, chosen_by = _meant(options)
    aside = switches.sound()[1]
    changed = switches.turn_on(scope, name)
    left = [one for one in switches.sound()[0]["silences"] if one["until"] is None]
    result = {
        "scope": scope, "name": name, "off": False, "changed": changed, "chosenBy": chosen_by,
        "stillOff": [_shown(one) for one in left],
    }  # fmt: skip
    steps = [step(_on(one["scope"], one["name"]), "this is still off") for one in left[:5]]
    return _switched("switch.on", result, aside, steps)


def _switched(action: str, result: dict[str, Any], aside: str, steps: list[NextAction]) -> Answer:
    if result["changed"]:
        about = {"scope": result["scope"], "name": result["name"]}
        event = new_event(action, source="cli", component="switch", metadata=about, now=clock.now_ms())
        log.try_append(None, [event], config.load())
    return Answer({**result, **({"setAside": aside} if aside else {})}, steps)


def _meant(options: dict[str, Any]) -> tuple[switches.Scope, str, str]:
    """What is switched, its name, and who chose it: `flag`, `session` (the one around the command) or `folder`."""
    given = (options["session"] or "").strip()
    if (options["session"] is not None) + options["project"] + options["everywhere"] > 1:
        raise usage(_CODE, "--session, --project and --everywhere exclude each other", "give one of them")
    if options["session"] is not None and not given:
        raise usage(_CODE, "--session names no session", "give its id")
    if options["everywhere"]:
        return switches.EVERYWHERE, "", "flag"
    around = given or ("" if options["project"] else session_around())
    if around:
        return switches.SESSION, state_file.identity(around), "flag" if given else "session"
    try:
        name = project.name_of(os.getcwd())
    except OSError:  # the folder is gone
        name = ""
    if not name:
        raise Failure(
            "SWITCH_NO_SCOPE",
            "no session is around the command, and the current folder is no project's",
            "go to a folder of the project, or give --session ID or --everywhere",
        )
    return switches.PROJECT, name, "flag" if options["project"] else "folder"


def _shown(one: switches.Silence) -> dict[str, Any]:
    return {"scope": one["scope"], "name": one["name"], "since": clock.iso(one["since"])}


def _on(scope: switches.Scope, name: str) -> str:
    return f"joelclaw on --session {quoted(name)}" if scope == switches.SESSION else f"joelclaw on --{scope}"


def exclude(options: dict[str, Any]) -> Answer:
    """Exclude a folder, or no more; or list those that are excluded."""
    if (options["folder"] is not None) + options["list"] + (options["remove"] is not None) > 1:
        raise usage(_CODE, "FOLDER, --list and --remove exclude each other", "give one of them")
    known = switches.sound()[0]["excluded"]
    if options["list"]:
        return Answer({"excluded": known})
    if options["remove"] is not None:
        folder = options["remove"]
        path = next((one for one in (os.path.realpath(folder), folder.rstrip("/")) if one in known), "")
        if not path:
            raise Failure("EXCLUDE_NOT_EXCLUDED", f"{folder} is not excluded", "see joelclaw exclude --list")
        result: dict[str, Any] = {
            "path": path,
            "excluded": False,
            "changed": switches.include(path),
            "archivedBefore": [],
        }
        return Answer(result, [step("joelclaw memory archive --all", "take in what was left out meanwhile")])
    folder = options["folder"] or "."
    path = os.path.realpath(folder)
    if not os.path.isdir(path):
        raise Failure("EXCLUDE_NO_FOLDER", f"there is no folder {folder}", "name a folder that is there")
    changed = switches.exclude(path)
    try:
        db = sqlite.open_reading()
        places = dict.fromkeys((path, os.path.abspath(folder)))
        found = session_rows.sessions_below(db, places) if db is not None else []
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    actions: list[NextAction] = [
        step(f"joelclaw memory forget --session {quoted(session)}", "forget what was archived of it before")
        for session in found[:_MOST_SHOWN]
    ]
    actions.append(step(f"joelclaw exclude --remove {quoted(path)}", "archive its sessions again"))
    return Answer({"path": path, "excluded": True, "changed": changed, "archivedBefore": found}, actions)


def trust(options: dict[str, Any]) -> Answer:
    """Trust a folder's project, or no more; or list those that are trusted."""
    if options["list"]:
        if options["revoke"] or options["folder"]:
            raise usage("TRUST_INVALID_ARGS", "--list goes with nothing else", "give --list alone")
        return Answer({"trusted": [_row(row) for row in trusted.every()]})
    try:
        folder = options["folder"] or os.getcwd()
    except OSError:
        raise Failure("TRUST_NO_FOLDER", "the current folder is gone", "name the folder of a project") from None
    if options["revoke"]:
        path = trusted.revoke(folder)
        if not path:
            raise Failure("TRUST_NOT_TRUSTED", f"{folder} is not trusted", "see joelclaw trust --list")
        undo = step(f"joelclaw trust {quoted(path)}", "undo")
        return Answer({"path": path, "trusted": False, "changed": True, "means": _NOT_LET_IN}, [undo])
    row, changed = trusted.trust(folder)
    undo = step(f"joelclaw trust --revoke {quoted(row['path'])}", "trust it no more")
    found = choices(folder)
    chosen = found and {name: value for name, value in found.items() if name not in ("trusted", "withheld")}
    result = {**_row(row), "trusted": True, "changed": changed, "means": _LET_IN, "chooses": chosen}
    return Answer(result, [undo])


def _row(row: trusted.Trusted) -> dict[str, Any]:
    """A folder; `stands` is false where something else lies in its place, which is not trusted."""
    return {"path": row["path"], "at": clock.iso(row["at"]), "stands": trusted.stands(row)}
