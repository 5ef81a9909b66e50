"""`joelclaw status`: what there is, how much of it, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer, runnable
from session import health

if TYPE_CHECKING:
    from core.envelope import NextAction


def run(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Look at everything; `healthy` is false when `problems` holds any."""
    result = health.read()
    for problem in result["problems"]:
        problem["fix"] = runnable(problem["fix"])
    return Answer(result, _next_actions(result))


def _next_actions(result: dict[str, Any]) -> list[NextAction]:
    actions: list[NextAction] = []
    if result["events"]["errors24h"]:
        actions.append({"command": "joelclaw otel list --level error,fatal", "description": "what went wrong today"})
    if not result["store"]["exists"]:
        actions.append(
            {
                "command": "joelclaw memory write <text>",
                "description": "the first memory",
                "params": {"text": {"description": "the observation", "required": True}},
            }
        )
    elif result["healthy"]:
        actions.append({"command": "joelclaw memory stats", "description": "memories by category and source"})
    return actions
