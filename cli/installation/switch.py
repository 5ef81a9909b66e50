"""`joelclaw off`, `on`, `exclude` and `trust`: what is left alone, and whose files may choose like the user."""

import os
from contextlib import suppress
from typing import Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from core import clock, project
from core.config.file import choices
from core.errors import Failure, usage
from core.repository import switches
from core.repository import trust as trusted
from core.store import sqlite
from core.store.sessions import session_lists
from otel import unstored
from otel.event import new_event
from session.state import state_file

_CODE = "SWITCH_INVALID_ARGS"
_MOST_SHOWN = 20
_LET_IN = (
    "what its files choose (queries, scores, scopes, descriptions) is recalled from all that is global, too, now and"
    " whatever is added to them later; what deletes, is run, or says where things are sent stays yours"
)
_NOT_LET_IN = "its files now choose only among its own memories"


def off(options: dict[str, Any]) -> Answer:
    """Leave a session, a project or everything alone."""
    return _switch("switch.off", options)


def on(options: dict[str, Any]) -> Answer:
    """Resume; the answer also says what is still off."""
    return _switch("switch.on", options)


def _switch(action: str, options: dict[str, Any]) -> Answer:
    scope, name, chosen_by = _meant(options)
    aside = switches.sound()[1]
    result: dict[str, Any] = {"scope": scope, "name": name, "off": action == "switch.off", "chosenBy": chosen_by}
    if result["off"]:
        since, changed = switches.turn_off(scope, name)
        result |= {"since": clock.iso(since["since"]), "changed": changed}
        steps = [step(_on(scope, name), "resume")]
    else:
        result["changed"] = switches.turn_on(scope, name)
        left = [one for one in switches.sound()[0]["silences"] if one["until"] is None]
        told = [{"scope": one["scope"], "name": one["name"], "since": clock.iso(one["since"])} for one in left]
        result["stillOff"] = told
        steps = [step(_on(one["scope"], one["name"]), "this is still off") for one in left[:5]]
    if result["changed"]:
        about = {"scope": scope, "name": name}
        event = new_event(action, source="cli", component="switch", metadata=about, now=clock.now_ms())
        unstored.store_waiting([event])
    whose = "Everything" if scope == switches.EVERYWHERE else f"The {scope} {name}"
    said = "is off: hooks inject, recall, archive and save nothing; recall and memory write still work."
    said = f"{whose} {said if result['off'] else 'is on.'}"
    if scope == switches.SESSION and not (state_file.exists(name) or _archived(name)):
        result["known"], said = False, f"{said} No session with this id is known yet."
    return Answer({**result, **({"setAside": aside} if aside else {})}, steps, said=said)


def _meant(options: dict[str, Any]) -> "tuple[switches.Scope, str, str]":
    """What is switched, its name, and who chose it: `flag`, `session` (the one around the command) or `folder`."""
    given = (options["session"] or "").strip()
    if (options["session"] is not None) + options["project"] + options["everywhere"] > 1:
        raise usage(_CODE, "--session, --project and --everywhere cannot be used together", "give one of them")
    if options["session"] is not None and not given:
        raise usage(_CODE, "--session is empty", "give its id")
    if options["everywhere"]:
        return switches.EVERYWHERE, "", "flag"
    around = given or ("" if options["project"] else session_around())
    if around:
        session = state_file.identity(around)
        whole = session if state_file.exists(session) else _archived(session) or session
        return switches.SESSION, whole, "flag" if given else "session"
    name = ""
    with suppress(OSError):  # the folder is gone
        name = project.name_of(os.getcwd())
    if not name:
        about = "the command runs in no session, and the current folder belongs to no project"
        raise Failure("SWITCH_NO_SCOPE", about, "go to a folder of the project, or give --session ID or --everywhere")
    return switches.PROJECT, name, "flag" if options["project"] else "folder"


def _archived(session: str) -> str:
    """The archived session that an id or its beginning means; "" where there is none, or the store cannot be read."""
    with suppress(sqlite.StoreError, OSError):
        db = sqlite.open_reading()
        return session_lists.whole_id(db, session, least=1) if db is not None else ""
    return ""


def _on(scope: str, name: str) -> str:
    return f"joelclaw on --session {quoted(name)}" if scope == switches.SESSION else f"joelclaw on --{scope}"


def exclude(options: dict[str, Any]) -> Answer:
    """Exclude a folder, or no more; or list those that are excluded."""
    folder, removed = options["folder"] or ".", options["remove"]
    if (options["folder"] is not None) + options["list"] + (removed is not None) > 1:
        raise usage(_CODE, "FOLDER, --list and --remove cannot be used together", "give one of them")
    known = switches.sound()[0]["excluded"]
    if options["list"]:
        return Answer({"excluded": known}, said="" if known else "No folder is excluded.")
    if removed is not None:
        path = next((one for one in (os.path.realpath(removed), removed.rstrip("/")) if one in known), "")
        if not path:
            raise Failure("EXCLUDE_NOT_EXCLUDED", f"{removed} is not excluded", "see joelclaw exclude --list")
        again = step("joelclaw memory archive --all", "archive what was left out in the meantime")
        return Answer(
            {"path": path, "excluded": False, "changed": switches.include(path), "archivedBefore": []}, [again]
        )
    path = os.path.realpath(folder)
    if options["folder"] is None and f"{os.path.realpath(os.path.expanduser('~'))}/".startswith(f"{path.rstrip('/')}/"):
        raise usage(_CODE, f"{path} is your home: all your projects are in it", "name it, if that is what you want")
    exists = os.path.isdir(path)
    changed = switches.exclude(path)
    db = sqlite.open_reading()
    places = dict.fromkeys((path, os.path.abspath(folder)))
    found = session_lists.sessions_below(db, places) if db is not None else []
    about = "forget what was archived from it before"
    actions = [step(f"joelclaw memory forget --session {quoted(one)}", about) for one in found[:_MOST_SHOWN]]
    actions.append(step(f"joelclaw exclude --remove {quoted(path)}", "archive its sessions again"))
    told = {"path": path, "exists": exists, "excluded": True, "changed": changed, "archivedBefore": found}
    return Answer(told, actions, said="" if exists else f"There is no folder {path}; its sessions are left out.")


def trust(options: dict[str, Any]) -> Answer:
    """Trust a folder's project, or no more; or list those that are trusted."""
    if options["list"]:
        if options["revoke"] or options["folder"]:
            raise usage("TRUST_INVALID_ARGS", "--list takes no other option", "give --list alone")
        rows = [_row(row) for row in trusted.every()]
        return Answer({"trusted": rows}, said="" if rows else "No folder is trusted.")
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
    undo = step(f"joelclaw trust --revoke {quoted(row['path'])}", "stop trusting it")
    found = choices(folder)
    chosen = found and {name: value for name, value in found.items() if name not in ("trusted", "withheld")}
    result = {**_row(row), "trusted": True, "changed": changed, "means": _LET_IN, "chooses": chosen}
    return Answer(result, [undo])


def _row(row: "trusted.Trusted") -> dict[str, Any]:
    """A folder; `stands` is false where something else lies in its place, which is not trusted."""
    return {"path": row["path"], "at": clock.iso(row["at"]), "stands": trusted.stands(row)}
