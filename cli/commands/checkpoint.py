"""`joelclaw checkpoint …`, `inject …` and `hook`: for hook scripts, the state of a session and texts for its agent.

`hot.py` runs the hot ones: `checkpoint save`, `checkpoint flush` and `inject …`; `cli/start.py` runs `hook`.
"""

from typing import Annotated

from typer import Argument, Option

import clients
from cli import start
from cli.commands import hot
from cli.declarations import Commands, Percent, Raw, Session, session_argument
from cli.output import Answer, template
from core.store import sessions as stored_sessions
from session.state import stored_id
from session.state_file import list_states, read_state, session_of, state_times, unknown_session

app = Commands()
checkpoint = app.group("checkpoint", "Save what a session is doing, as its context fills.")
inject = app.group("inject", "Print short texts to give to an agent.")

Role = Annotated[
    str | None, Option("--role", help="interactive (default), gateway or another; remembered for the session")
]
Tokens = Annotated[int | None, Option("--tokens", min=0, help="Context usage in tokens; needs --window")]
Window = Annotated[int | None, Option("--window", min=1, metavar="W", help="The model's context window in tokens")]


@checkpoint.command("save")
def save(
    session: Session = None,
    percent: Percent = None,
    tokens: Tokens = None,
    window: Window = None,
    message: Annotated[
        list[str] | None, Option("--message", "-m", metavar="TEXT", help="A prompt; give the oldest first")
    ] = None,
    file: Annotated[list[str] | None, Option(metavar="PATH", help="A file that was edited")] = None,
    role: Role = None,
    stdin: Annotated[
        bool, Option("--stdin", help="Also read these values as a JSON object from stdin; options take precedence")
    ] = False,
) -> Answer:
    """Save the task at the end of a turn; recall when the context is warm, remember when it is hot."""
    return hot.save(locals())


@checkpoint.command("flush")
def flush(
    session: Session = None, percent: Percent = None, tokens: Tokens = None, window: Window = None, role: Role = None
) -> Answer:
    """Save the last checkpoint before a compaction."""
    return hot.flush(locals())


@checkpoint.command("show")
def show(
    id: Annotated[str | None, session_argument("Session id, or the beginning of it (default: all)")] = None,
) -> Answer:
    """Show everything known about a session; without ID, list all sessions with a state file."""
    if id is None:
        sessions = list_states()
        actions = []
        if sessions:
            command, about = "joelclaw checkpoint show <id>", "everything known about a session"
            actions.append(template(command, about, "its id", sessions[0]["sessionId"]))
        return Answer({"count": len(sessions), "sessions": sessions}, actions, view="cli.views:states")
    name = stored_id(id)
    state = read_state(name)
    if state is None and (whole := stored_sessions.only_one(name, map(session_of, state_times()))):
        state = read_state(whole)
    if state is None:
        raise unknown_session(id)
    return Answer(state.to_json(), view="cli.views:state")


@inject.command("recovery")
def recovery(session: Session = None, role: Role = None, raw: Raw = False) -> Answer:
    """Print the recovery note after a compaction."""
    return hot.inject_recovery(locals())


@inject.command("memory")
def memory(
    session: Session = None,
    role: Role = None,
    query: Annotated[str | None, Option(help="What to recall (default: inject.query)")] = None,
    project: Annotated[str | None, Option(help="Its project (default: the folder's)")] = None,
    raw: Raw = False,
) -> Answer:
    """Print relevant memories when a session starts, once."""
    return hot.inject_memory(locals())


@inject.command("refresh")
def refresh(
    session: Session = None,
    role: Role = None,
    message: Annotated[str | None, Option("--message", "-m", metavar="TEXT", help="The user's new message")] = None,
    percent: Percent = None,
    raw: Raw = False,
) -> Answer:
    """Print memories about the current topic when a message arrives, if they are due."""
    return hot.inject_refresh(locals())


@inject.command("project")
def project(
    session: Session = None,
    role: Role = None,
    file: Annotated[list[str] | None, Option(metavar="PATH", help="The file being edited")] = None,
    cwd: Annotated[str | None, Option(metavar="DIR", help="The agent's folder (default: the current folder)")] = None,
    raw: Raw = False,
) -> Answer:
    """Print memories that name a file when it is edited, once."""
    return hot.inject_project(locals())


@app.command("hook")
def hook(
    agent: Annotated[
        str | None,
        Argument(metavar="AGENT", help=clients.either(clients.NAMES), autocompletion=lambda: [*clients.NAMES]),
    ] = None,
    event: Annotated[str | None, Argument(metavar="EVENT", help="The event, if stdin does not name it")] = None,
) -> int:
    """Answer an agent's event on stdin; agents call this. Always exits 0. To test it, run `joelclaw doctor`."""
    return start.hook([agent or "", event or ""])
