"""What a command reads besides its words: stdin, the session in the environment; and times as people write them.

Hot path.
"""

from __future__ import annotations

import os
import sys
import time

from cli.output import tell, wrong_usage
from core import TYPE_CHECKING, clock, files, json_text
from core.errors import Failure, usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any, BinaryIO

SESSION_VARIABLES = ("JOELCLAW_SESSION_ID", "SLOG_SESSION_ID", "PI_SESSION_HANDLE")  # the first that is set counts
# `Client.session_variable` of the clients, repeated here so that a recall loads no client.
CLIENT_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "QWEN_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
_HOURS = {"h": 1, "d": 24, "w": 168, "mo": 730, "m": 730, "y": 8766}


def session_from_environment() -> str:
    """The session that our own environment variables name, or ""."""
    return next(filter(None, (os.environ.get(name, "").strip() for name in SESSION_VARIABLES)), "")


def current_session() -> str:
    """The session that our own variables name, else that of the client that runs this command, or ""."""
    of_client = [name for variable in CLIENT_VARIABLES if (name := os.environ.get(variable, "").strip())]
    return session_from_environment() or (of_client[0] if len(of_client) == 1 else "")


def required_session(given: str | None) -> str:
    """The id of the session that is given or named by our own variables; raises a Failure without either."""
    from session.state import stored_id

    name = (given or "").strip() or session_from_environment()
    if not name:
        raise wrong_usage("no session was given", "give --session ID, or set JOELCLAW_SESSION_ID")
    return stored_id(name)


def time_range(since: str | None, until: str | None) -> tuple[int, ...]:
    """The first and last time (ms since the epoch) of --since and --until; empty without either."""
    if not (since or until):
        return ()
    forever = 1 << 60
    first, last = _period("--since", since)[0] if since else 0, _period("--until", until)[1] if until else forever
    if first > last:
        raise wrong_usage("--since is later than --until", "give --since the earlier time")
    return first, last


def _period(flag: str, given: str) -> tuple[int, int]:
    """When the time that is given (`2w`, `2026-05-31`, `last week`) begins and ends."""
    now = clock.now_ms()
    text = given.strip().lower()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    hours = _HOURS.get(text[len(number) :])
    if number.isdecimal() and len(number) < 6 and hours:
        at = now - int(number) * hours * clock.HOUR_MS
        return at, at
    if number and (dated := clock.local_period(given)) is not None:
        return dated
    from core import words
    from recall.times import period_named

    period = period_named(words.split(given), now, exactly=True)
    if period is None:
        raise wrong_usage(f"{flag} {given[:60]!r} is not a time", f"give {flag} 2w, 36h, 2026-05-31 or 'last week'")
    return period[0], period[1] - 1


def text_or_stdin(given: str | None) -> str | None:
    """The text that is given; for `-`, that on stdin, in which bad UTF-8 becomes U+FFFD."""
    if given != "-":
        return given
    from core.words import clean
    from memory.write import MAX_CHARS

    try:
        data = sys.stdin.buffer.read(4 * MAX_CHARS + 65_536)  # UTF-8 takes up to 4 bytes; spaces do not count
        for _ in range(64):  # MiB: a program that is still writing would get EPIPE, but stdin may be endless
            if not sys.stdin.buffer.read(1 << 20):
                break
    except (OSError, AttributeError) as error:
        raise Failure("STDIN_UNREADABLE", f"stdin cannot be read: {error}", "give the text as a word") from None
    return clean(data.decode("utf-8", "replace"))


def read_json(limit: int, less: str, example: str, names: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Read a JSON object of at most `limit` bytes from stdin: its values by the names of its keys, and unknown keys.

    Unknown keys are reported on stderr. Null values are left out, and an empty stdin counts as `{}`. `less` says how to
    shorten it.
    """
    try:
        text = read_object(limit)
    except TooLongError:
        raise wrong_usage(f"stdin holds more than {limit} bytes", less) from None
    given = parse_object(text, "stdin", example) if text.strip() else {}
    unknown = [key for key in given if key not in names]
    if unknown:
        report_unknown_keys(unknown, names)
    return {names[key]: value for key, value in given.items() if key in names and value is not None}, unknown


def report_unknown_keys(unknown: Sequence[str], known: Collection[str]) -> None:
    """Say on stderr which keys of a JSON object have no effect, and which were probably meant."""
    from difflib import get_close_matches

    from core.quoting import shown

    for key in unknown[:20]:
        meant = [f" (did you mean {near}?)" for near in get_close_matches(key[:80], known, 1, 0.7)]
        tell(shown(f"joelclaw: ignored, as this key is unknown: {key[:80]}{''.join(meant)}\n"))


def parse_object(text: str | bytes, where: str, example: str) -> dict[str, Any]:
    """Parse a JSON object that the caller gave; raises INVALID_JSON, or wrong usage if it is no object."""
    try:
        value = json_text.loads(text)
    except json_text.InvalidJSON as error:
        raise usage("INVALID_JSON", f"{where} is not JSON: {error}", example) from None
    if not isinstance(value, dict):
        raise wrong_usage(f"{where} is JSON but not an object", example)
    return value


class TooLongError(ValueError):
    """Stdin holds more than the limit."""


def read_object(limit: int) -> bytes:
    """Read stdin up to the end of a JSON object, in a bounded time: a hook's stdin may be a pipe that never closes.

    Returns the bytes that came before the pipe fell silent; none from a terminal. Raises TooLongError at its end.
    """
    import select

    data = bytearray()
    is_too_long = False
    end = time.monotonic() + 30  # seconds, if a program goes on writing; the deadline of a hook ends it earlier
    try:
        while not os.isatty(0) and (left := end - time.monotonic()) > 0:
            may_be_complete = data[-1_000:].rstrip()[-1:] == b"}"
            silence = 0.05 if may_be_complete else 1  # seconds
            if not select.select([0], [], [], min(left, silence))[0]:
                if not may_be_complete or _is_json(data):
                    break
                continue
            chunk = os.read(0, 65_536)
            if not chunk:
                break
            data += chunk
            if len(data) > limit:  # read on to the end: a client that is still writing would get EPIPE
                is_too_long = True
                data.clear()
    except OSError:  # stdin is closed, or cannot be read
        pass
    if is_too_long:
        raise TooLongError(f"stdin holds more than {limit / 1e6:.3g} MB")
    return bytes(data)


def _is_json(data: bytearray) -> bool:
    try:
        json_text.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except json_text.InvalidJSON:
        return False
    return True


def open_input(file: str, content: str) -> BinaryIO:
    """A file, or stdin for `-`, to read. Raises a Failure if it cannot be read; `content` says what it should hold."""
    if file == "-":
        return sys.stdin.buffer
    try:
        files.require_file(file)
        return open(file, "rb")
    except OSError as error:
        raise wrong_usage(f"{file}: {error.strerror}", f"name a file of {content}, or - for stdin") from None


def numbered_lines(handle: BinaryIO, longest: int) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file with their numbers; None for a line of more than `longest` bytes."""
    for number, line in enumerate(iter(lambda: handle.readline(longest), b""), 1):
        is_long = len(line) == longest and not line.endswith(b"\n")
        rest = line
        while is_long and rest and not rest.endswith(b"\n"):
            rest = handle.readline(longest)
        yield number, None if is_long else line
