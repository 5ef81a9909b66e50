"""`joelclaw off`, `on` and `exclude`: the sessions, projects and folders that hooks leave unchanged."""

import os
from contextlib import suppress
from typing import Annotated, Any

import typer

from cli.declarations import Commands, stored
from cli.input import current_session
from cli.output import Answer, quoted, step
from core import clock, project, switches
from core.errors import Failure, usage

app = Commands()

CODE = "SWITCH_INVALID_ARGS"

OneSession = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="This session (default: the session that runs this command)",
        autocompletion=stored("sessions"),
    ),
]
OneProject = Annotated[bool, typer.Option("--project", help="The folder's project (default if no session is known)")]
Everywhere = Annotated[bool, typer.Option("--everywhere", help="All sessions")]


@app.command(
    "off",
    help="Turn joelclaw off for a session, a project or everything: hooks do not inject, recall, archive or save "
    "anything.",
)
def off(session: OneSession = None, project: OneProject = False, everywhere: Everywhere = False) -> Answer:
    """Turn joelclaw off for a session, a project or everything."""
    scope, name, chosen_by = _scope(session, project, everywhere)
    damaged = switches.load()[1]
    switched, changed = switches.turn_off(scope, name)
    result = {
        "scope": scope, "name": name, "off": True, "chosenBy": chosen_by, "since": clock.iso(switched["since"]),
        "changed": changed,
    }  # fmt: skip
    message = "is off: hooks do not inject, recall, archive or save anything; recall and memory write still work."
    return _switched("switch.off", result, [step(_on_command(scope, name), "resume")], message, damaged)


@app.command("on")
def on(session: OneSession = None, project: OneProject = False, everywhere: Everywhere = False) -> Answer:
    """Turn joelclaw on again. Turns from the time when it was off are never archived."""
    scope, name, chosen_by = _scope(session, project, everywhere)
    damaged = switches.load()[1]
    result: dict[str, Any] = {"scope": scope, "name": name, "off": False, "chosenBy": chosen_by}
    result["changed"] = switches.turn_on(scope, name)
    left = [row for row in switches.load()[0]["silences"] if row["until"] is None]
    result["stillOff"] = [
        {"scope": row["scope"], "name": row["name"], "since": clock.iso(row["since"])} for row in left
    ]
    steps = [step(_on_command(row["scope"], row["name"]), "this is still off") for row in left[:5]]
    return _switched("switch.on", result, steps, "is on.", damaged)


def _switched(action: str, result: dict[str, Any], steps: list[Any], message: str, damaged: str) -> Answer:
    """The answer, after the event is stored. `damaged` is the name of a file of switches that was set aside."""
    from otel import log
    from otel.log import new_event
    from session.state_file import has_state

    scope, name = result["scope"], result["name"]
    if result["changed"]:
        metadata = {"scope": scope, "name": name}
        event = new_event(action, source="cli", component="switch", metadata=metadata, now=clock.now_ms())
        log.store_spooled([event])
    message = f"{'Everything' if scope == switches.EVERYWHERE else f'The {scope} {name}'} {message}"
    if scope == switches.SESSION and not (has_state(name) or _archived_session(name)):
        result["known"] = False
        message += " No session with this id is known yet."
    return Answer({**result, **({"setAside": damaged} if damaged else {})}, steps, message=message)


def _scope(session: str | None, of_project: bool, everywhere: bool) -> "tuple[switches.Scope, str, str]":
    """The scope to switch, its name, and how it was chosen: by a `flag`, the current `session` or the `folder`."""
    from session.state import stored_id
    from session.state_file import has_state

    given = (session or "").strip()
    if (session is not None) + of_project + everywhere > 1:
        raise usage(CODE, "--session, --project and --everywhere cannot be used together", "give one of them")
    if session is not None and not given:
        raise usage(CODE, "--session is empty", "give its id")
    if everywhere:
        return switches.EVERYWHERE, "", "flag"
    current = given or ("" if of_project else current_session())
    if current:
        name = stored_id(current)
        whole = name if has_state(name) else _archived_session(name) or name
        return switches.SESSION, whole, "flag" if given else "session"
    folder_project = ""
    with suppress(OSError):  # the folder was deleted
        folder_project = project.name_of(os.getcwd())
    if not folder_project:
        about = "the command runs in no session, and the current folder belongs to no project"
        raise Failure("SWITCH_NO_SCOPE", about, "go to a folder of the project, or give --session ID or --everywhere")
    return switches.PROJECT, folder_project, "flag" if of_project else "folder"


def _archived_session(session: str) -> str:
    """The archived session with this id or beginning of an id; "" if there is none, or if the store cannot be read."""
    from core.store import sessions, sqlite

    with suppress(sqlite.StoreError, OSError):
        db = sqlite.open_reading()
        return sessions.whole_id(db, session, least=1) if db is not None else ""
    return ""


def _on_command(scope: str, name: str) -> str:
    return f"joelclaw on --session {quoted(name)}" if scope == switches.SESSION else f"joelclaw on --{scope}"


@app.command("exclude")
def exclude(
    folder: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="The folder (default: the current folder)")
    ] = None,
    list: Annotated[bool, typer.Option("--list", help="Show the excluded folders")] = False,
    remove: Annotated[str | None, typer.Option(metavar="FOLDER", help="Archive this folder again")] = None,
) -> Answer:
    """Never archive sessions of a folder or its subfolders."""
    if (folder is not None) + list + (remove is not None) > 1:
        raise usage(CODE, "FOLDER, --list and --remove cannot be used together", "give one of them")
    known = switches.load()[0]["excluded"]
    if list:
        return Answer({"excluded": known}, message="" if known else "No folder is excluded.")
    if remove is not None:
        path = next((one for one in (os.path.realpath(remove), remove.rstrip("/")) if one in known), "")
        if not path:
            raise Failure("EXCLUDE_NOT_EXCLUDED", f"{remove} is not excluded", "see joelclaw exclude --list")
        again = step("joelclaw memory archive --all", "archive the sessions from the meantime")
        result = {"path": path, "excluded": False, "changed": switches.include(path), "archivedBefore": []}
        return Answer(result, [again])
    return _exclude(folder)


def _exclude(folder: str | None) -> Answer:
    from core.store import sessions, sqlite

    path = os.path.realpath(folder or ".")
    if folder is None and f"{os.path.realpath(os.path.expanduser('~'))}/".startswith(f"{path.rstrip('/')}/"):
        raise usage(CODE, f"{path} is your home: all your projects are in it", "name it, if that is what you want")
    exists = os.path.isdir(path)
    changed = switches.exclude(path)
    db = sqlite.open_reading()
    places = dict.fromkeys((path, os.path.abspath(folder or ".")))
    archived = sessions.below(db, places) if db is not None else []
    about = "forget a session archived from it before"
    steps = [step(f"joelclaw memory forget --session {quoted(one)}", about) for one in archived[:20]]
    steps.append(step(f"joelclaw exclude --remove {quoted(path)}", "archive its sessions again"))
    result = {"path": path, "exists": exists, "excluded": True, "changed": changed, "archivedBefore": archived}
    message = "" if exists else f"{path} does not exist; it is excluded anyway. Check the spelling."
    return Answer(result, steps, message=message)
