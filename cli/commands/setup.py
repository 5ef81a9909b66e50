"""Where joelclaw works: `joelclaw install`, `uninstall`, `off`, `on`, `exclude`, `completion` and `mcp`."""

import importlib.util
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

import clients
from cli import shared
from cli.commands import memory_bulk
from cli.input import current_session
from cli.output import Answer, is_for_person, quoted, require_known, step, wrong_usage
from core import clock, files, project, switches
from core.errors import FAILED, Failure
from core.redaction import redact
from core.store import sessions, sqlite
from otel import log
from session.install import plan
from session.install.client_settings import Settings, settings_of
from session.state import has_state, stored_id

app = typer.Typer()

VIEW = "cli.views:install"
AGENTS = [*clients.NAMES, "all"]

Agents = Annotated[
    list[str] | None,
    Argument(metavar="AGENT", help=f"{', '.join(clients.NAMES)} or all", autocompletion=lambda: AGENTS),
]


@app.command("install")
def install(
    agents: Agents = None,
    project: shared.FolderProject = False,
    confirmed: shared.Confirmed = None,
    mcp: Annotated[bool, Option("--mcp", help="Also add the MCP server")] = False,
    archive: Annotated[bool | None, Option("--archive/--no-archive", help="Also past sessions (default: ask)")] = None,
    list: Annotated[bool, Option("--list", help="Show where joelclaw is installed")] = False,
) -> Answer:
    """Add joelclaw to an agent's settings; offer to archive past sessions."""
    if list:
        both = product(map(settings_of, clients.with_hooks()), (False, True))
        rows = [plan.installation_row(client, of) for client, of in both if client.has_projects or not of]
        return Answer({"installs": rows})
    if mcp and confirmed is not False and importlib.util.find_spec("mcp") is None:
        about = f"the MCP server needs the package `mcp`, which is not installed for {sys.executable}"
        raise Failure("INSTALL_FAILED", about, f"run `{mcp_command()}`, then this again; nothing was changed")
    answer = _change("install", agents or [], confirmed, project=project, mcp=mcp)
    if not answer.result or confirmed is False:
        return answer
    offered, actions = memory_bulk.offer_past_sessions(confirmed if archive is None else archive)
    check = step("joelclaw doctor", "check that its hooks are called")
    return Answer({**answer.result, **offered}, [*actions, check], view=VIEW)


@app.command("uninstall")
def uninstall(
    agents: Agents = None, project: shared.FolderProject = False, confirmed: shared.Confirmed = None
) -> Answer:
    """Remove joelclaw from an agent's settings; the memory stays."""
    return _change("uninstall", agents or [], confirmed, project=project)


def _change(verb: str, agents: Sequence[str], confirmed: bool | None, *, project: bool, mcp: bool = False) -> Answer:
    """Install or uninstall, after asking on a terminal; the result is empty if the user does not agree.

    With `confirmed=False`, the result shows what would change.
    """
    chosen, skipped = _choose(verb, list(dict.fromkeys(agents)), of_project=project)

    def plans() -> list[list[plan.Plan]]:
        """All plans, before anything is written: if one file is refused, nothing changes."""
        return [plan.plans_for(client, project=project, mcp=mcp, remove=verb == "uninstall") for client in chosen]

    described = [_describe(verb, of_client, {}) for of_client in plans()]
    result: dict[str, Any] = {"agents": described, "skipped": skipped, "dryRun": confirmed is False}
    answer = Answer(result, view=VIEW, exit_code=FAILED * any(row["failed"] for row in skipped))
    if confirmed is False:
        return answer
    files_changed = [file for about in described for file in (about, *about["also"]) if file["diff"]]
    if confirmed is None and is_for_person() and files_changed:
        from cli import views
        from cli.terminal import confirm, print_items

        print_items(views.changes(files_changed))
        if not confirm(f"{verb}?"):
            return Answer({}, message="Cancelled; nothing was changed.")
    result["agents"] = []
    with plan.locked():
        for of_client in plans():
            about = _describe(verb, of_client, plan.carry_out(of_client))
            about["notes"] += of_client[0].settings.confirmed() if verb == "install" else []
            result["agents"].append(about)
    return answer


def _choose(verb: str, names: list[str], *, of_project: bool) -> tuple[list[Settings], list[dict[str, Any]]]:
    """The clients that are named, and with `all` those that are skipped and why.

    An uninstall of all also skips those whose settings cannot be read: they must not keep the others installed.
    """
    for name in names:
        require_known("AGENT", name, AGENTS)
    if "all" not in names:
        if not names:
            raise wrong_usage("no agent was named", f"name some of {', '.join(clients.NAMES)}, or all")
        return [settings_of(clients.by_name(name)) for name in names], []
    chosen, skipped = [], []
    for client in map(settings_of, clients.with_hooks()):
        reason, failed = "", False
        if of_project and not client.has_projects:
            reason = "it reads no settings of a project"
        elif verb == "install" and not client.present():
            reason = f"there is neither {client.client.home()} nor a command `{client.name}`"
        elif verb == "uninstall" and not (row := plan.installation_row(client, of_project))["installed"]:
            failed = row["installed"] is None and plan.may_be_installed(client, of_project)
            reason = (*row["notes"], "not installed")[0]
        if reason:
            skipped.append({"agent": client.name, "reason": reason, "failed": failed})
        else:
            chosen.append(client)
    return chosen, skipped


def _describe(verb: str, plans: list[plan.Plan], backups: dict[str, str | None]) -> dict[str, Any]:
    """The result for a client. A file of ours that is added or removed as a whole is described instead of shown."""
    every = []
    for file_plan in plans:
        file = {"path": file_plan.path, "changed": file_plan.changed, "backup": backups.get(file_plan.path)}
        file |= {"created": file_plan.changed and file_plan.before is None, "diff": file_plan.diff()}
        if file_plan.is_whole_file:
            file |= {"bytes": len(os.fsencode(file_plan.after or file_plan.before or "")), "what": file_plan.purpose}
        every.append(file)
    notes = list(dict.fromkeys(note for file_plan in plans for note in file_plan.notes))
    result = {
        "agent": plans[0].settings.name, "scope": "project" if plans[0].project else "user", **every[0],
        "changed": any(file["changed"] for file in every),
        "also": [file for file in every[1:] if file["changed"] or file["diff"]], "notes": notes,
    }  # fmt: skip
    if verb == "uninstall" and backups:
        result["backupsLeft"] = [name for file_plan in plans for name in plan.backups_of(file_plan.path)]
    return result


# off, on, exclude

OneSession = Annotated[str | None, shared.session_option("A session (default: the current session)")]
Everywhere = Annotated[bool, Option("--everywhere", help="All sessions")]


@app.command("off")
def off(session: OneSession = None, project: shared.FolderProject = False, everywhere: Everywhere = False) -> Answer:
    """Turn joelclaw off: its hooks do nothing."""
    scope, name = _scope(session, project, everywhere)
    resume = "resume"
    with suppress(sqlite.StoreError, OSError):
        if session and not (has_state(name) or sessions.is_archived(sqlite.open_or_empty(), name)):
            resume = "resume; no such session is known yet: check the spelling"
    warning = _warning_if_damaged()
    switched, changed = switches.turn_off(scope, name)
    result = {"scope": scope, "name": name, "off": True, "since": clock.iso(switched["since"]), "changed": changed}
    message = "is off: hooks do not inject, recall, archive or save anything; recall and memory write still work."
    return _switched("switch.off", result | warning, [step(_on_command(scope, name), resume)], message)


@app.command("on")
def on(session: OneSession = None, project: shared.FolderProject = False, everywhere: Everywhere = False) -> Answer:
    """Turn joelclaw on again. The conversation in between is not archived."""
    scope, name = _scope(session, project, everywhere)
    warning = _warning_if_damaged()
    result: dict[str, Any] = {"scope": scope, "name": name, "off": False, "changed": switches.turn_on(scope, name)}
    left = [row for row in switches.load()[0]["silences"] if row["until"] is None]
    result["stillOff"] = [{"scope": row["scope"], "name": row["name"]} for row in left]
    steps = [step(_on_command(row["scope"], row["name"]), "this is still off") for row in left[:5]]
    return _switched("switch.on", result | warning, steps, "is on.")


def _switched(action: str, result: dict[str, Any], steps: list[Any], message: str) -> Answer:
    """The answer, after the event is stored."""
    scope, name = result["scope"], result["name"]
    if result["changed"]:
        about = {"scope": scope, "name": name}
        log.store_spooled([log.new_event(action, component="switch", metadata=about, now=clock.now_ms())])
    message = f"{'Everything' if scope == 'everywhere' else f'The {scope} {name}'} {message}"
    return Answer(result, steps, message=message)


def _warning_if_damaged() -> dict[str, Any]:
    """For the result: what to do if the file of the switches is damaged, after it is set aside."""
    _, aside = switches.load()
    about = f"{files.SWITCHES} was damaged and is now {aside}; repeat what it switched off or excluded"
    return {"warnings": [about]} if aside else {}


def _scope(session: str | None, of_project: bool, everywhere: bool) -> "tuple[switches.Scope, str]":
    """The scope to switch and its name: as given, else the current session, else the folder's project."""
    if (session is not None) + of_project + everywhere > 1:
        raise wrong_usage("--session, --project and --everywhere cannot be used together", "give one of them")
    if everywhere:
        return "everywhere", ""
    if current := session or ("" if of_project else current_session()):
        name = stored_id(current.strip())
        with suppress(sqlite.StoreError, OSError):  # hooks are switched off without the store, too
            if not has_state(name):
                name = sessions.whole_id(sqlite.open_or_empty(), name) or name
        return "session", name
    if not (folder_project := redact(project.name_of(files.current_folder()))[0]):
        about = "the command runs in no session, and the current folder belongs to no project"
        raise Failure("SWITCH_NO_SCOPE", about, "go to a folder of the project, or give --session ID or --everywhere")
    return "project", folder_project


def _on_command(scope: str, name: str) -> str:
    return f"joelclaw on --session {quoted(name)}" if scope == "session" else f"joelclaw on --{scope}"


@app.command("exclude")
def exclude(
    folder: Annotated[str | None, Argument(metavar="FOLDER", help="The folder (default: the current folder)")] = None,
    list: Annotated[bool, Option("--list", help="Show the excluded folders")] = False,
    remove: Annotated[str | None, Option(metavar="FOLDER", help="Archive this folder again")] = None,
) -> Answer:
    """Never archive what happens in a folder."""
    if (folder is not None) + list + (remove is not None) > 1:
        raise wrong_usage("FOLDER, --list and --remove cannot be used together", "give one of them")
    warning = _warning_if_damaged()
    known = switches.load()[0]["excluded"]
    if list:
        return Answer({"excluded": known, **warning}, message="" if known else "No folder is excluded.")
    if remove is not None:
        names = (os.path.realpath(os.path.expanduser(remove)), remove.rstrip("/"))
        path = next((path for path in names if path in known), "")
        if not path:
            fix = warning["warnings"][0] if warning else "see joelclaw exclude --list"
            raise Failure("EXCLUDE_NOT_EXCLUDED", f"{remove} is not excluded", fix)
        changed = switches.set_excluded(path, is_excluded=False)
        return Answer({"path": path, "excluded": False, "changed": changed, "archivedBefore": []})
    folder = folder and os.path.expanduser(folder)  # the shell leaves a quoted `~` to us
    path = os.path.realpath(folder or ".")
    if folder is None and f"{os.path.realpath(os.path.expanduser('~'))}/".startswith(f"{path.rstrip('/')}/"):
        fix = f"name it if you want that: joelclaw exclude {quoted(path)}"
        raise wrong_usage(f"{path} is your home: all your projects are in it", fix)
    if redact(path)[0] != path:
        raise wrong_usage("the path contains a secret, which would be stored", "rename it, or exclude one above it")
    changed = switches.set_excluded(path, is_excluded=True)
    archived = sessions.below(sqlite.open_or_empty(), dict.fromkeys((path, os.path.abspath(folder or "."))))
    result = {"path": path, "excluded": True, "changed": changed, "archivedBefore": archived, **warning}
    gone = "" if os.path.isdir(path) else f"{path} does not exist; it is excluded anyway. Check the spelling."
    return Answer(result, [step(f"joelclaw exclude --remove {quoted(path)}", gone or "archive it again")])


# completion, mcp

_SCRIPTS = {"bash": "joelclaw.bash", "zsh": "_joelclaw", "fish": "joelclaw.fish"}


@app.command("completion")
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"] | None, Argument(metavar="SHELL", help="bash, zsh or fish (default: $SHELL)")
    ] = None,
    offer: Annotated[list[str] | None, Option(metavar="WORD", help="Complete the last of these words instead")] = None,
) -> Answer:
    """Print a script: eval "$(joelclaw completion bash)"."""
    if offer:
        from cli import reference

        *before, word = offer
        word = "" if word == "=" else word  # bash passes `--budget=lean` as three words
        offers = reference.completions(before, word)
        starts = (word, reference.FILES)
        rows = [f"{text}\t{about}".rstrip() for text, about in offers.items() if text.startswith(starts)]
        return Answer(None, text="\n".join(rows))
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in _SCRIPTS:
        raise wrong_usage(f"there is no script for the shell {name!r}", "name a shell: bash, zsh or fish")
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    with open(os.path.join(root, "completions", _SCRIPTS[name]), encoding="utf-8") as file:
        return Answer(None, text=file.read().rstrip("\n"))


@app.command("mcp")
def mcp() -> int:
    """Serve MCP tools to the agent that starts it."""
    if os.isatty(0):
        about = "an agent starts this and speaks MCP with it on stdin and stdout"
        raise Failure("MCP_TERMINAL", about, "register it: joelclaw install AGENT --mcp")
    try:
        from cli import mcp_tools
    except ImportError as error:
        about = f"the package `mcp` is not installed for {sys.executable}, or is another version: {error}"
        raise Failure("MCP_MISSING", about, mcp_command()) from None
    for client in clients.with_hooks():  # the server may outlive the session that started it
        os.environ.pop(client.session_variable, None)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an exception would wait for the thread that reads stdin
    try:
        mcp_tools.server().run()
    except* BrokenPipeError:  # the client has ended, as when it closes stdin
        pass
    return 0


def mcp_command() -> str:
    """The command that adds the package of the MCP server to this installation."""
    pip = ["uv", "pip", "install", "--python", sys.executable]
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*pip, "mcp>=2.3,<3"])  # as in pyproject.toml
