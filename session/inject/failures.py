"""Which commands failed, and which of them a later success has answered. Hot path."""

from __future__ import annotations

from core import shell_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Call

_LATE_CALLS = 60
# Answers of a client in place of a tool's, and what a tool says of how it was held: nothing failed to be mended.
_NOT_RUN = (
    "<tool_use_error>", "(eval):cd", "[redacted", "[request interrupted", "cancelled", "command aborted",
    "command timed out", "could not find the exact text", "error: exit code", "exit code ", "file content (",
    "file does not exist", "file has been modified since read", "file has not been read", "found 0 occurrences",
    "no changes to make", "no such tool", "permission to use", "process exited with code", "request interrupted",
    "sibling tool call", "string to replace not found", "the user does not want", "the user doesn't want",
    "user rejected",
)  # fmt: skip


def open_failure(calls: Sequence[Call]) -> Call | None:
    """The last command that failed, where none of the same program and verb has run well since."""
    late = calls[: -_LATE_CALLS - 1 : -1]
    if all(call["outcome"] != "failed" for call in late):
        return None
    answered: set[str] = set()
    for call in late:
        kinds = kinds_of(call["command"])
        if call["outcome"] == "ok":
            answered.update(kinds if shell_command.tells(call["command"]) else ())
        elif call["outcome"] == "failed" and kinds and kinds[-1] not in answered and is_failure(call["error"]):
            return call
    return None


def standing(commands: Sequence[Call]) -> list[Call]:
    """Of commands that differ only in what reads their output the last; none that failed and was answered since."""
    latest: dict[tuple[str, ...], Call] = {}
    done: dict[str, int] = {}
    for call in commands:
        key = shell_command.without_filters(call["command"])
        latest[key] = max(call, latest.get(key, call), key=lambda one: one["number"])
        if call["outcome"] == "ok" and shell_command.tells(call["command"]):
            for kind in kinds_of(call["command"]):
                done[kind] = max(done.get(kind, 0), call["number"])
    return [
        call
        for call in latest.values()
        if call["outcome"] != "failed"
        or not any(done.get(kind, 0) > call["number"] for kind in kinds_of(call["command"])[-1:])
    ]


def kinds_of(command: str) -> list[str]:
    """Program and verb of each step of a command (`git commit`, `mise run lint`), without those that only look."""
    return [f"{step['program']} {step['verb']}".rstrip() for step in shell_command.steps(command) if not step["looks"]]


def is_failure(error: str) -> bool:
    """Whether what a call failed with is an error of the work, not of how a tool was used or stopped."""
    line = error.strip().lower()
    if line.startswith("[") and "] " in line and not line.startswith(_NOT_RUN):
        line = line.partition("] ")[2]
    return bool(line) and not line.startswith(_NOT_RUN)
