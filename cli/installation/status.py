"""`joelclaw status` and `doctor`: what there is, what is wrong with it, and what mends it."""

from typing import Any

from cli.answer import Answer, runnable, step
from core.errors import FAILED
from otel.event import host
from session.doctor import checks

_ABSENT = {"ok": None, "detail": "not part of this joelclaw, which starts no service; `healthy` is its own verdict"}
_SERVICES = {"server": _ABSENT, "worker": _ABSENT, "agent_mail": _ABSENT, "latestAgentDispatchCanary": None}
"""What the mirrored CLI tells of services: neither up nor down here."""


def run(_options: dict[str, Any]) -> Answer:
    """The examination of `doctor`, told as facts; `problems` are its errors and warnings, `healthy` is its verdict."""
    found = checks.run()
    names = ("severity", "code", "message", "fix")
    problems = [one for one in found["findings"] if one["severity"] in ("error", "warning")]
    told = [{name: one[name] for name in names} | {"fix": runnable(one["fix"])} for one in problems]
    result: dict[str, Any] = {"healthy": found["healthy"], "problems": told, **found["facts"]}
    result |= {**_SERVICES, "k8s": {**_ABSENT, "status": "absent", "hostname": host(), "hostedOn": None}}
    actions = []
    if result["events"]["errors24h"]:
        actions.append(step("joelclaw otel list --level error,fatal", "what went wrong today"))
    if not result["store"]["exists"]:
        actions.append(step("joelclaw install --list", "what is installed where"))
        actions.append(step("joelclaw memory archive", "archive the sessions that your clients already have"))
    elif result["healthy"]:
        actions.append(step("joelclaw memory stats", "memories by category and source"))
    return Answer(result, actions)


def doctor(options: dict[str, Any]) -> Answer:
    """Examine, and mend with `--fix`; exit 1 where a finding is an error, and the answer is there all the same."""
    result = checks.run(options["client"], project=options["project"], fix=options["fix"])
    del result["facts"]
    for found in result["findings"]:
        found["fix"] = runnable(found["fix"])
    left = {found["code"] for found in result["findings"] if found["severity"] != "ok"}
    actions = []
    if left & checks.FIXABLE and not options["fix"]:
        named = "".join(f" --client {name}" for name in options["client"]) + " --project" * options["project"]
        actions = [step(f"joelclaw doctor{named} --fix", "fix what is safe to fix")]
    elif left & {"HOOK_FAILED", "HOOK_LATE"}:
        actions = [step("joelclaw otel search hook --level warn,error", "see what the hooks said")]
    return Answer(result, actions, exit_code=0 if result["healthy"] else FAILED)
