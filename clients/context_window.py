"""The size of a session's context window in tokens, where its transcript does not tell. Hot path."""

from __future__ import annotations

import os

from clients import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

_LONG = 1_000_000
_LONG_MARKS = ("[1m]", "-1m")
# Part of a model's name → its window. GPT-5 and Codex's models: what remains for input.
_BY_MODEL = (
    ("claude", 200_000),
    ("gemini", 1_048_576),
    ("gpt-5", 272_000),
    ("codex", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("o4-mini", 200_000),
    ("o3", 200_000),
    ("deepseek", 128_000),
)


def context_window(agent: str, models: tuple[str, ...], used: int, config: Config) -> int:
    """The window: as `context.window` or the client's own variable sets it, else by the model's name, else the client's
    usual one. `used` tokens lie in it: some transcripts name a model without its long context.
    """
    chosen = config.whole("context.window")
    if chosen:
        return chosen
    client = registry.row(agent)
    if client.window_variable:
        given = os.environ.get(client.window_variable, "").strip()
        if given.isascii() and given.isdigit() and int(given[:12]) > 0:
            return int(given[:12])
    window = _by_model(models) or client.window
    return client.long_window if client.long_window and window < used else window


def _by_model(models: tuple[str, ...]) -> int:
    names = [model.lower() for model in models if model]
    if any(mark in name for name in names for mark in _LONG_MARKS):
        return _LONG
    for name in names:
        for part, window in _BY_MODEL:
            if part in name:
                return window
    return 0
