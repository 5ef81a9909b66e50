"""`joelclaw mcp`: serves the tools of `cli/mcp_tools.py`, which needs the package `mcp`, an optional extra."""

import os
import signal
import sys

import typer

import clients
from core.errors import Failure

app = typer.Typer()


@app.command("mcp")
def mcp() -> int:
    """Serve MCP tools to the agent that starts it."""
    if os.isatty(0):
        about = "an agent starts this and speaks MCP with it on stdin and stdout"
        raise Failure("MCP_TERMINAL", about, "register it: joelclaw install AGENT --mcp")
    try:
        from cli import mcp_tools
    except ImportError as error:
        from cli.commands.setup import mcp_command

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
