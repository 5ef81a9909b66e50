"""Asks a language model through a user's command: the prompt goes to its stdin, the text comes from its stdout."""

import os
import shlex
import shutil

from core.config import Config
from core.errors import Failure
from core.process import process_group
from core.quoting import clip
from core.redaction import redact
from core.words import clean

IN_MODEL = "JOELCLAW_IN_MODEL"
"""Set in the command's environment: our hooks stay silent there, and no model asks another model."""
MAX_OUTPUT_BYTES = 200_000  # far more than a summary or a list of observations takes
_MOST_TOLD = 300


class Model:
    """Asks the model of the settings `model.*` through a command line: a function of the prompt."""

    __slots__ = ("_config", "command", "timeout")

    def __init__(self, command: str, config: Config) -> None:
        self.command = command
        self.timeout = config.get_float("model.timeout_seconds")
        self._config = config

    def __call__(self, prompt: str, *, seconds: float = float("inf")) -> str:
        """The answer to a redacted prompt in at most `seconds`, without a shell. Raises Failure: MODEL_*."""
        command, timeout = self.command, min(self.timeout, seconds)
        most = self._config.get_int("model.max_prompt_bytes")
        _refuse_within_model()
        try:
            words = shlex.split(command)
        except ValueError as error:
            message = f"the model command cannot be parsed: {str(error).lower()}"
            raise Failure("MODEL_NOT_CONFIGURED", message, "write it as one line with its quotes closed") from None
        if not words:
            raise not_configured()
        words[0] = os.path.expanduser(words[0])
        name = _one_line(words[0])
        if "\0" in command or shutil.which(words[0]) is None:
            fix = "install it, or give its full path; no shell runs it, so pipes and variables need sh -c '...'"
            raise Failure("MODEL_NOT_FOUND", f"there is no program {name!r} to run", fix)
        data = redact(clean(prompt))[0].encode()
        if len(data) > most:
            message = f"the prompt has {len(data)} bytes; the limit is {most}"
            raise Failure(
                "MODEL_TOO_LONG", message, "raise model.max_prompt_bytes in config.toml if the model takes more"
            )
        ended = process_group.run(
            words,
            seconds=timeout,
            data=data,
            most=MAX_OUTPUT_BYTES,
            guarded=True,
            environment={**os.environ, IN_MODEL: "1"},
        )
        if ended.reason == "timeout":
            fix = "raise model.timeout_seconds in config.toml, or use a faster model"
            raise Failure("MODEL_TIMEOUT", f"{name} did not answer within {timeout:g} s", fix)
        if ended.reason == "too-long":
            fix = "check what the command prints"
            raise Failure("MODEL_TOO_LONG", f"{name} answered more than {MAX_OUTPUT_BYTES} bytes", fix)
        if ended.reason or ended.status != 0:
            lines = [line for line in ended.errors.decode("utf-8", "replace").splitlines() if line.strip()]
            last = f": {_one_line(lines[-1])}" if lines else ""
            number = ended.status or 0
            how = f"was ended by signal {-number}" if number < 0 else f"ended with exit code {number}"
            raise Failure("MODEL_FAILED", f"{name} {how}{last}", "run it by hand with a prompt on stdin")
        text = ended.output.decode("utf-8", "replace").replace("\0", "\ufffd").removeprefix("\ufeff").strip()
        if not text:
            fix = "run it by hand with a prompt on stdin; it must write to stdout"
            raise Failure("MODEL_EMPTY", f"{name} answered nothing", fix)
        return text


def from_config(config: Config, override: str = "") -> Model | None:
    """A function that asks the user's model by `override`, else by `model.command`; None without a command."""
    command = override.strip() or config.get_str("model.command").strip()
    if not command:
        return None
    _refuse_within_model()
    return Model(command, config)


def not_configured() -> Failure:
    """The Failure of a command that needs a model."""
    fix = 'set `command` in the table [model] of config.toml, e.g. command = "claude -p", or give --command CMD'
    return Failure("MODEL_NOT_CONFIGURED", "no model command is set", fix)


def _refuse_within_model() -> None:
    """Refuse to ask a model from within a model's command: that would never end."""
    if os.environ.get(IN_MODEL):
        fix = f"call joelclaw without {IN_MODEL} in the environment"
        raise Failure("MODEL_FAILED", "a model's command called joelclaw for another model", fix)


def _one_line(text: str) -> str:
    """Foreign text as it may be shown: without secrets and control characters, and short."""
    line = " ".join("".join(c if c.isprintable() else " " for c in clean(text)).split())
    return clip(redact(line)[0], _MOST_TOLD)
