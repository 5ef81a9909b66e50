"""`joelclaw completion SHELL`: the script that makes a shell complete our words."""

from __future__ import annotations

from typing import Any

from cli import completion_scripts
from cli.answer import Answer


def run(options: dict[str, Any]) -> Answer:
    """The script as text, so that a shell can source it: `eval "$(joelclaw completion bash)"`."""
    return Answer(None, text=completion_scripts.SHELLS[options["shell"]]().rstrip("\n"))
