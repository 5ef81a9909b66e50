"""`joelclaw memory observe`: a model notes what a session said that is worth keeping."""

import os
from typing import Any

from cli.answer import Answer, quoted, step
from core import config
from core.errors import usage
from core.process import background
from core.process.command import model_from_config, model_not_configured
from memory.archive import transcript_files
from session import observation
from session.observation_queue import session_name

_CODE = "MEMORY_INVALID_ARGS"


def run(options: dict[str, Any]) -> Answer:
    """Observe a transcript, which is archived first, or an archived session."""
    in_background = background.obey_limit()
    settings = config.load()
    session, transcript = _session(options)
    model = model_from_config(settings, options["command"])
    if model is None:
        raise model_not_configured()
    if options["detach"]:
        observation.observe_in_background(session, _words(options))
        outcome = step("joelclaw otel search memory.observe --hours 1", "what came of it")
        return Answer({"session": session, "detached": True}, [outcome])
    result = observation.observe(settings, model, session, transcript, locked=in_background)
    rest = step(f"joelclaw memory observe --session {quoted(session)}", "continue with the rest")
    recent = step("joelclaw memory recent", "what is remembered now")
    return Answer(result, [rest if result["left"]["turns"] else recent])


def _session(options: dict[str, Any]) -> tuple[str, str]:
    """The session's id in the store, and the transcript's path or ""."""
    path: str = options["transcript"] or ""
    if bool(path) == bool(options["session"]):
        raise usage(_CODE, "name either a transcript or a session", "give TRANSCRIPT, or --session ID")
    if not path:
        return session_name(options["session"]), ""
    if not os.path.exists(path) or os.path.isdir(path):
        kind = "is a folder" if os.path.isdir(path) else "is not there"
        raise usage(_CODE, f"{path} {kind}", "name a transcript, or give --session ID")
    return session_name(transcript_files.look_at(path)[1]), path


def _words(options: dict[str, Any]) -> list[str]:
    """The command that does in the background what these options ask for."""
    words = ["memory", "observe", "--json"]
    words += [os.path.abspath(options["transcript"])] if options["transcript"] else [f"--session={options['session']}"]
    return words + ([f"--command={options['command']}"] if options["command"] else [])
