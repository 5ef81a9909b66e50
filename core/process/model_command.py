"""Asks a language model through a command of the user's: the prompt on its stdin, the text on its stdout.

Off the hot path.

The command runs below a keeper (`core.process.model_keeper`), which kills everything that it started when it ends,
when its time is over, and when we end, however that happens.
"""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from core.errors import Failure
from core.process import model_keeper
from core.redaction import redact
from core.words import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.config import Config

IN_MODEL = "JOELCLAW_IN_MODEL"
"""Set in the command's environment: our hooks stay silent there, and no model is asked by a model."""
_CHUNK = 65_536
_STDERR_BYTES = 8_192
_MOST_TOLD = 300
_SLACK_S = 2.0
"""By how much the keeper's own limit is later than ours; it matters where we are stopped."""
_END_S = 10.0
_DRAIN_S = 1.0


class Model:
    """Asks the model of the settings `model.*`; a function of the prompt.

    Args:
        command: a command line.
        config: says timeout and limits.
    """

    __slots__ = ("_config", "command", "timeout")

    def __init__(self, command: str, config: Config) -> None:
        self.command = command
        self.timeout = config.number("model.timeout_seconds")
        self._config = config

    def __call__(self, prompt: str, *, seconds: float = float("inf")) -> str:
        """As `ask`, in no more than `seconds` even where the settings allow more."""
        return ask(
            prompt,
            command=self.command,
            timeout=min(self.timeout, seconds),
            max_prompt=self._config.whole("model.max_prompt_bytes"),
            max_output=self._config.whole("model.max_output_bytes"),
        )


def from_config(config: Config, override: str = "") -> Model | None:
    """What asks the user's model; None without a command.

    Args:
        override: a command line to run instead of `model.command`.

    Raises:
        Failure: MODEL_FAILED, where we run below a model's command ourselves.
    """
    command = override.strip() or config.text("model.command").strip()
    if not command:
        return None
    _refuse_within_model()
    return Model(command, config)


def not_configured() -> Failure:
    """The Failure for a command that cannot do without a model."""
    return Failure(
        "MODEL_NOT_CONFIGURED",
        "no model's command is set",
        'set `command` in the table [model] of config.toml, e.g. command = "claude -p", or give --command CMD',
    )


def ask(prompt: str, *, command: str, timeout: float, max_prompt: int, max_output: int) -> str:
    """What the command answers, without white space around it; valid text whatever bytes came.

    Args:
        prompt: redacted before it leaves.
        command: a command line as a shell would split it; no shell runs it.
        timeout: seconds.
        max_prompt, max_output: bytes.

    Raises:
        Failure: MODEL_NOT_CONFIGURED, MODEL_NOT_FOUND, MODEL_TIMEOUT, MODEL_FAILED (with the last line of its stderr),
            MODEL_EMPTY or MODEL_TOO_LONG (prompt or answer). Nothing of the command runs any more.
    """
    words = _words(command)
    data = redact(clean(prompt))[0].encode()
    if len(data) > max_prompt:
        raise Failure(
            "MODEL_TOO_LONG",
            f"the prompt has {len(data)} bytes; the model's command is given {max_prompt} at most",
            "raise model.max_prompt_bytes in config.toml if the model takes more",
        )
    said, stderr, ended = _Exchange(words, data, timeout, max_output).run()
    if ended != "exit 0":
        raise _failed(words[0], ended, stderr)
    text = said.decode("utf-8", "replace").replace("\0", "\ufffd").removeprefix("\ufeff").strip()
    if not text:
        raise Failure(
            "MODEL_EMPTY",
            f"{words[0]} answered nothing",
            "run it by hand with a prompt on stdin; it must write to stdout",
        )
    return text


def _words(command: str) -> list[str]:
    """The words of a command line whose program is there."""
    _refuse_within_model()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Failure(
            "MODEL_NOT_CONFIGURED",
            f"the model's command cannot be read: {str(error).lower()}",
            "write it as one line with its quotes closed",
        ) from None
    if not words:
        raise not_configured()
    words[0] = os.path.expanduser(words[0])
    if "\0" in command or shutil.which(words[0]) is None:
        raise _not_found(words[0])
    return words


def _refuse_within_model() -> None:
    """No model asks a model: a command line that leads back to us would never end."""
    if os.environ.get(IN_MODEL):
        raise Failure(
            "MODEL_FAILED",
            "a model's command asked for a model",
            f"call joelclaw without {IN_MODEL} in the environment",
        )


def _not_found(name: str) -> Failure:
    return Failure(
        "MODEL_NOT_FOUND",
        f"there is no program {_one_line(name)!r} to run",
        "install it, or give its full path; no shell runs the line, so pipes and variables need sh -c '...'",
    )


def _failed(name: str, ended: str, stderr: bytes) -> Failure:
    kind, _, number = ended.partition(" ")
    if kind == "errno":
        return Failure(
            "MODEL_NOT_FOUND",
            f"{_one_line(name)} cannot be run: {os.strerror(int(number))}",
            "check its permissions, and the interpreter in its first line",
        )
    how = {"exit": f"ended with exit code {number}", "signal": f"was ended by signal {number}"}.get(kind, "was stopped")
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    last = f": {_one_line(lines[-1])}" if lines else ""
    return Failure("MODEL_FAILED", f"{_one_line(name)} {how}{last}", "run it by hand with a prompt on stdin")


def _one_line(text: str) -> str:
    """Foreign text as it may be shown: no secrets, no control characters, not long."""
    line = redact(" ".join("".join(c if c.isprintable() else " " for c in clean(text)).split()))[0]
    return line if len(line) <= _MOST_TOLD else line[: _MOST_TOLD - 1] + "…"


class _Exchange:
    """One run of the command: the prompt in, output and the last of stderr out, all within the time."""

    def __init__(self, words: Sequence[str], prompt: bytes, timeout: float, most: int) -> None:
        self._words = words
        self._prompt = memoryview(prompt)
        self._timeout = timeout
        self._most = most
        self._said = bytearray()
        self._stderr = b""
        self._ended = ""

    def run(self) -> tuple[bytes, bytes, str]:
        """Output, the end of stderr, and how the command ended in the keeper's words."""
        until = time.monotonic() + self._timeout
        ours, theirs = socket.socketpair()
        process = None
        try:
            process = subprocess.Popen(  # noqa: S603  # the user's own command
                [
                    *(sys.executable, "-I", "-S", model_keeper.__file__),
                    *(str(theirs.fileno()), f"{self._timeout + _SLACK_S:.3f}"),
                    *self._words,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, IN_MODEL: "1"},
                start_new_session=True,
            )
            theirs.close()
            self._pump(process, ours, until)
        except OSError as error:
            raise Failure(
                "MODEL_FAILED", f"{self._words[0]} cannot be run: {error.strerror}", "try again with less running"
            ) from None
        finally:
            theirs.close()
            ours.close()  # the keeper ends everything
            if process is not None:
                _close(process)
        return bytes(self._said), self._stderr, self._ended

    def _pump(self, process: subprocess.Popen[bytes], ours: socket.socket, until: float) -> None:
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        if stdin is None or stdout is None or stderr is None:  # they are pipes
            return
        with selectors.DefaultSelector() as selector:
            os.set_blocking(stdin.fileno(), False)
            selector.register(stdin, selectors.EVENT_WRITE, self._write)
            selector.register(stdout, selectors.EVENT_READ, self._read)
            selector.register(stderr, selectors.EVENT_READ, self._read_error)
            selector.register(ours, selectors.EVENT_READ, self._read_end)
            answers = 3  # output, stderr and the keeper's word
            while answers:
                ready = selector.select(max(0.0, until - time.monotonic()))
                if not ready and self._ended:
                    return  # something far off still holds the pipes; what the command said is here
                if not ready:
                    raise Failure(
                        "MODEL_TIMEOUT",
                        f"{_one_line(self._words[0])} gave no answer within {self._timeout:g} s",
                        "raise model.timeout_seconds in config.toml, or name a faster model",
                    )
                for key, _ in ready:
                    if not key.data(key.fd):
                        selector.unregister(key.fileobj)
                        answers -= key.fileobj is not stdin
                        if key.fileobj is stdin:
                            with suppress(OSError):
                                stdin.close()
                        elif key.fileobj is ours:
                            until = min(until, time.monotonic() + _DRAIN_S)

    def _write(self, descriptor: int) -> bool:
        """Hand over more of the prompt; whether there is more. A command need not read it."""
        try:
            self._prompt = self._prompt[os.write(descriptor, self._prompt[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return bool(self._prompt)

    def _read(self, descriptor: int) -> bool:
        chunk = os.read(descriptor, _CHUNK)
        self._said += chunk
        if len(self._said) > self._most:
            raise Failure(
                "MODEL_TOO_LONG",
                f"{_one_line(self._words[0])} answered more than {self._most} bytes",
                "raise model.max_output_bytes in config.toml, or check what the command prints",
            )
        return bool(chunk)

    def _read_error(self, descriptor: int) -> bool:
        chunk = os.read(descriptor, _CHUNK)
        self._stderr = (self._stderr + chunk)[-_STDERR_BYTES:]
        return bool(chunk)

    def _read_end(self, descriptor: int) -> bool:
        self._ended = os.read(descriptor, 64).decode("ascii", "replace") or "stopped"
        return False


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
