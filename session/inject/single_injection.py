"""One injection on its own, as `joelclaw inject …` answers it."""

from __future__ import annotations

from core.quoting import cost
from session.faults import errors_of
from session.inject.runner import OFF, InjectionStep
from session.state import schema
from session.step import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from session.context import Context
    from session.inject.runner import Situation
    from session.records import Injection, SessionState, Text
    from session.step import Step


def inject(injection: Injection, situation: Situation, *before: Step) -> dict[str, Any]:
    """What is injected, or why nothing is.

    Args:
        before: steps that come first.
    """
    context = situation.context
    if context.is_off(situation.cwd):
        nothing = schema.blank(context.session_id, context.role or "interactive", context.now)
        return _result(context, context.previous or nothing, OFF, None, {})
    step = InjectionStep(injection, situation)
    state = run(context, (*before, step))
    if step.text is None:
        return _result(context, state, step.reason, None, step.decision.about)
    return _result(context, state, "injected", step.text, step.about(step.text))


def _result(
    context: Context, state: SessionState, reason: str, text: Text | None, about: Mapping[str, Any]
) -> dict[str, Any]:
    content = text["content"] if text is not None else ""
    result: dict[str, Any] = {
        "injected": text is not None,
        "reason": reason,
        "customType": text["customType"] if text is not None else None,
        "content": content,
        "display": False,
        "chars": len(content),
        "estimatedTokens": cost(content),
        "sessionId": state["sessionId"],
        **about,
    }
    if context.set_aside:
        result["setAside"] = context.set_aside
    return {**result, **errors_of(context.faults)}
