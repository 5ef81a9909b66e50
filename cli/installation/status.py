"""`joelclaw status` and `doctor`: what there is, what is wrong with it, and what mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer, runnable, step
from core.errors import FAILED
from session import health
from session.doctor import examination
from session.doctor.repair import MENDED

if TYPE_CHECKING:
    from core.envelope import NextAction


def run(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Look at everything; `healthy` is false when `problems` holds any."""
    result = health.read()
    for problem in result["problems"]:
        problem["fix"] = runnable(problem["fix"])
    return Answer(result, _after_status(result))


def _after_status(result: dict[str, Any]) -> list[NextAction]:
    actions = []
    if result["events"]["errors24h"]:
        actions.append(step("joelclaw otel list --level error,fatal", "what went wrong today"))
    if not result["store"]["exists"]:
        params = {"text": {"description": "the observation", "required": True}}
        actions.append(step("joelclaw memory write <text>", "the first memory", params))
    elif result["healthy"]:
        actions.append(step("joelclaw memory stats", "memories by category and source"))
    return actions


def doctor(options: dict[str, Any]) -> Answer:
    """Examine, and mend with `--fix`; exit 1 where a finding is an error, and the answer is there all the same."""
    result = examination.run(options["client"], project=options["project"], fix=options["fix"])
    for found in result["findings"]:
        found["fix"] = runnable(found["fix"])
    return Answer(result, _after_doctor(result, options), exit_code=0 if result["healthy"] else FAILED)


def _after_doctor(result: dict[str, Any], options: dict[str, Any]) -> list[NextAction]:
    left = {found["code"] for found in result["findings"] if found["severity"] != "ok"}
    if left & MENDED and not options["fix"]:
        named = "".join(f" --client {name}" for name in options["client"]) + " --project" * options["project"]
        return [step(f"joelclaw doctor{named} --fix", "mend what is safe to mend")]
    if any(code.startswith(("HOOK_FAILED", "HOOK_LATE")) for code in left):
        return [step("joelclaw otel search hook --level warn,error", "see what the hooks said")]
    return []
