"""`joelclaw off`, `on` and `exclude`: which sessions, projects and folders hooks leave alone."""

import os
from contextlib import suppress
from typing import Any

from cli.answer import Answer, quoted, step
from cli.parameter import session_around
from core import clock, project, switches
from core.errors import Failure, usage
from core.store import sessions, sqlite
from otel import log
from otel.event import new_event
from session.state import stored_id
from session.state_file import has_state

_CODE = "SWITCH_INVALID_ARGS"
_MOST_SHOWN = 20


def off(options: dict[str, Any]) -> Answer:
    """Leave a session, a project or everything alone."""
    return _switch("switch.off", options)


def on(options: dict[str, Any]) -> Answer:
    """Resume; the answer also says what is still off."""
    return _switch("switch.on", options)


def _switch(action: str, options: dict[str, Any]) -> Answer:
    scope, name, chosen_by = _meant(options)
    aside = switches.load()[1]
    result: dict[str, Any] = {"scope": scope, "name": name, "off": action == "switch.off", "chosenBy": chosen_by}
    if result["off"]:
        since, changed = switches.turn_off(scope, name)
        result |= {"since": clock.iso(since["since"]), "changed": changed}
        steps = [step(_on(scope, name), "resume")]
    else:
        result["changed"] = switches.turn_on(scope, name)
        left = [one for one in switches.load()[0]["silences"] if one["until"] is None]
        told = [{"scope": one["scope"], "name": one["name"], "since": clock.iso(one["since"])} for one in left]
        result["stillOff"] = told
        steps = [step(_on(one["scope"], one["name"]), "this is still off") for one in left[:5]]
    if result["changed"]:
        about = {"scope": scope, "name": name}
        event = new_event(action, source="cli", component="switch", metadata=about, now=clock.now_ms())
        log.store_spooled([event])
    whose = "Everything" if scope == switches.EVERYWHERE else f"The {scope} {name}"
    said = "is off: hooks inject, recall, archive and save nothing; recall and memory write still work."
    said = f"{whose} {said if result['off'] else 'is on.'}"
    if scope == switches.SESSION and not (has_state(name) or _archived(name)):
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
        session = stored_id(around)
        whole = session if has_state(session) else _archived(session) or session
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
        return sessions.whole_id(db, session, least=1) if db is not None else ""
    return ""


def _on(scope: str, name: str) -> str:
    return f"joelclaw on --session {quoted(name)}" if scope == switches.SESSION else f"joelclaw on --{scope}"


def exclude(options: dict[str, Any]) -> Answer:
    """Exclude a folder, or no more; or list those that are excluded."""
    folder, removed = options["folder"] or ".", options["remove"]
    if (options["folder"] is not None) + options["list"] + (removed is not None) > 1:
        raise usage(_CODE, "FOLDER, --list and --remove cannot be used together", "give one of them")
    known = switches.load()[0]["excluded"]
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
    found = sessions.below(db, places) if db is not None else []
    about = "forget what was archived from it before"
    actions = [step(f"joelclaw memory forget --session {quoted(one)}", about) for one in found[:_MOST_SHOWN]]
    actions.append(step(f"joelclaw exclude --remove {quoted(path)}", "archive its sessions again"))
    told = {"path": path, "exists": exists, "excluded": True, "changed": changed, "archivedBefore": found}
    return Answer(told, actions, said="" if exists else f"There is no folder {path}; its sessions are left out.")
