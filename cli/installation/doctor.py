"""`joelclaw doctor`: what keeps sessions from being remembered, each with what mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer, runnable, step
from core.errors import FAILED
from session.doctor import examination
from session.doctor.repair import MENDED

if TYPE_CHECKING:
    from core.envelope import NextAction


def run(options: dict[str, Any]) -> Answer:
    """Examine, and mend with `--fix`; exit 1 where a finding is an error, and the answer is there all the same."""
    result = examination.run(options["client"], project=options["project"], fix=options["fix"])
    for found in result["findings"]:
        found["fix"] = runnable(found["fix"])
    return Answer(result, _next_actions(result, options), exit_code=0 if result["healthy"] else FAILED)


def _next_actions(result: dict[str, Any], options: dict[str, Any]) -> list[NextAction]:
    left = {found["code"] for found in result["findings"] if found["severity"] != "ok"}
    if left & MENDED and not options["fix"]:
        named = "".join(f" --client {name}" for name in options["client"]) + " --project" * options["project"]
        return [step(f"joelclaw doctor{named} --fix", "mend what is safe to mend")]
    if any(code.startswith(("HOOK_FAILED", "HOOK_LATE")) for code in left):
        return [step("joelclaw otel search hook --level warn,error", "see what the hooks said")]
    return []
