"""Runs the user's commands, each in its own process group that ends in time and leaves no process behind.

`Model` is such a command that answers a prompt: it reads the prompt on stdin and writes text to stdout.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from core.config import Config
from core.errors import Failure
from core.quoting import clip
from core.redaction import redact
from core.words import clean, printable_line

IN_MODEL = "JOELCLAW_IN_MODEL"
"""Set in the environment of a model's command: our hooks stay silent there, and no model asks another model."""

GUARD = """\
import os, sys
alive = int(sys.argv[1])
os.set_inheritable(alive, False)
if os.fork():
    os.execvp(sys.argv[2], sys.argv[2:])
os.closerange(0, 3)
os.read(alive, 1)
os.killpg(0, 9)
"""
"""Forks a child that reads a pipe of ours: when we end, however that happens, it kills the command's group."""

MAX_OUTPUT_BYTES = 1_000_000  # of a command that goes on: it prints without end
Reason = Literal["", "timeout", "too-long", "not-started"]


@dataclass(frozen=True)
class Ended:
    """How a command ended, with all that it printed."""

    status: int | None
    """The exit status: negative for a signal, None if the command did not start."""
    output: bytes
    reason: Reason = ""
    """Why it was ended; "" if it ended by itself."""
    errors: bytes = b""

    def explain(self) -> str:
        """How it ended, in words, with the end of its output."""
        output = " ".join((self.output + b"\n" + self.errors).decode("utf-8", "replace").split())[-500:]
        status = self.status or 0
        how = {
            "": f"exit status {status}" if status >= 0 else f"ended by signal {-status}",
            "timeout": "it took too long and was stopped",
            "too-long": "it printed too much and was stopped",
            "not-started": "it could not be started",
        }[self.reason]
        return f"{how}: {output}" if output else how


def find_program(word: str) -> str:
    """The path of a program that a command names; "" if there is none, or if it depends on the current folder."""
    is_relative = os.sep in word and not os.path.isabs(word)
    return "" if is_relative else shutil.which(word) or ""


def split_command(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of a command with each `{name}` replaced, to run without a shell. Raises ValueError."""
    words = shlex.split(template)
    for name, value in values.items():
        words = [word.replace("{" + name + "}", value) for word in words]
    return words


def run_command(
    words: Sequence[str],
    seconds: float,
    *,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    data: bytes = b"",
    guarded: bool = False,
) -> Ended:
    """Run a command of the user's without a shell, to its end, to a KeyboardInterrupt, or for `seconds` at most.

    Then all that it started and that stayed in its group gets SIGTERM, and 3 s later SIGKILL. It need not read `data`
    on its stdin. `guarded`: it is killed when we end, however that happens.
    """
    from tempfile import TemporaryFile

    if not words or not find_program(words[0]):
        return Ended(None, f"No such file: {words[:1]}".encode(), "not-started")
    alive_reader, alive_writer = os.pipe()
    guard = [sys.executable, "-I", "-S", "-c", GUARD, str(alive_reader)] if guarded else []
    shared = [alive_reader] if guarded else []
    try:
        with TemporaryFile() as given:  # not a pipe: the command need not read it
            given.write(data)
            given.seek(0)
            process = subprocess.Popen(  # noqa: S603  # the user's own command
                [*guard, *words], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=cwd, env=environment, pass_fds=shared, start_new_session=True,
            )  # fmt: skip
        try:
            reason = _wait(process, time.monotonic() + seconds)
        finally:
            output, errors = _end(process)
        return Ended(process.returncode, output, reason, errors)
    except (OSError, ValueError) as error:
        return Ended(None, str(error).encode(), "not-started")
    finally:
        os.close(alive_reader)
        os.close(alive_writer)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> Reason:
    """Wait until the process ends or has to be ended. A grandchild that keeps the output open does not count."""
    while time.monotonic() < deadline:
        try:
            process.communicate(timeout=0.05)
            return ""
        except subprocess.TimeoutExpired as waiting:
            if process.poll() is not None:
                return ""
            if len(waiting.output or b"") > MAX_OUTPUT_BYTES:
                return "too-long"
    return "timeout"


def _end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End the rest of the process group; returns all that it printed on stdout and stderr."""
    for number, seconds in ((signal.SIGTERM, 3.0 if process.poll() is None else 0.0), (signal.SIGKILL, 1.0)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as waiting:  # something outside the group may keep the output open
            output, errors = waiting.output or b"", waiting.stderr or b""
    process.wait()
    for stream in filter(None, (process.stdout, process.stderr)):
        stream.close()
    return output, errors


class Model:
    """The user's language model: a function of a prompt, run through a command line without a shell."""

    __slots__ = ("_max_prompt_bytes", "command", "timeout_s")

    def __init__(self, command: str, config: Config) -> None:
        self.command = command
        self.timeout_s = config.get_float("model.timeout_seconds")
        self._max_prompt_bytes = config.get_int("model.max_prompt_bytes")

    def __call__(self, prompt: str, *, seconds: float = float("inf")) -> str:
        """The answer to a prompt, which is redacted first, within `seconds`. Raises Failure: MODEL_*."""
        try:
            words = shlex.split(os.path.expanduser(self.command))
        except ValueError as error:
            message = f"the model command cannot be parsed: {str(error).lower()}"
            raise Failure("MODEL_NOT_CONFIGURED", message, "write it as one line with its quotes closed") from None
        name = _one_line(words[0])
        if not find_program(words[0]):
            fix = "install it, or give its full path; no shell runs it, so pipes and variables need sh -c '...'"
            raise Failure("MODEL_NOT_FOUND", f"there is no program {name!r} to run", fix)
        data = redact(clean(prompt))[0].encode()
        if len(data) > self._max_prompt_bytes:
            message = f"the prompt has {len(data)} bytes; the limit is {self._max_prompt_bytes}"
            fix = "raise model.max_prompt_bytes in config.toml if the model takes more"
            raise Failure("MODEL_TOO_LONG", message, fix)
        environment = {**os.environ, IN_MODEL: "1"}
        timeout_s = min(self.timeout_s, seconds)
        ended = run_command(words, timeout_s, environment=environment, data=data, guarded=True)
        if ended.reason == "timeout":
            fix = "raise model.timeout_seconds in config.toml, or use a faster model"
            raise Failure("MODEL_TIMEOUT", f"{name} did not answer within {timeout_s:g} s", fix)
        text = ended.output.decode("utf-8", "replace").replace("\0", "\ufffd").removeprefix("\ufeff").strip()
        if ended.reason or ended.status != 0 or not text:
            fix = "run it by hand with a prompt on stdin; it must write to stdout"
            nothing = "" if ended.reason or ended.status else "nothing on stdout, "
            raise Failure("MODEL_FAILED", f"{name}: {nothing}{_one_line(ended.explain())}", fix)
        return text


def model_from_config(config: Config, override: str = "") -> Model | None:
    """The user's model: `override`, else `model.command`; None without a command."""
    command = override.strip() or config.get_str("model.command").strip()
    if not command:
        return None
    if os.environ.get(IN_MODEL):  # it would never end
        fix = f"call joelclaw without {IN_MODEL} in the environment"
        raise Failure("MODEL_FAILED", "a model's command called joelclaw for another model", fix)
    return Model(command, config)


def model_not_configured() -> Failure:
    """The failure of a command that needs a model."""
    fix = 'set `command` in the table [model] of config.toml, e.g. command = "claude -p", or give --command CMD'
    return Failure("MODEL_NOT_CONFIGURED", "no model command is set", fix)


def _one_line(text: str) -> str:
    """Foreign text for a message: redacted, without control characters, and short."""
    return clip(redact(printable_line(clean(text)))[0], 300)
