"""A finding: what is wrong, or worth knowing, and what to do about it. Its codes are a contract (`docs/doctor.md`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["ok", "note", "warning", "error"]
_ORDER: tuple[Severity, ...] = ("ok", "note", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One finding.

    Args:
        code: upper-case words; what scripts go by.
        severity: `ok` was wrong and is mended, `note` is worth knowing, `warning` something is lost or will be,
            `error` something does not work.
        subject: a client's name, or one of `store`, `home`, `switches`, `settings`, `command`, `model`, `cluster`,
            `exporter`.
        message: what is wrong, in one sentence.
        fix: a command that runs as printed, or one sentence.
    """

    code: str
    severity: Severity
    subject: str
    message: str
    fix: str

    def row(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def worst(findings: list[Finding]) -> Severity:
    """The severity of the worst one; `ok` without any."""
    return max((one.severity for one in findings), key=_ORDER.index, default="ok")


def worst_first(findings: list[Finding]) -> list[Finding]:
    """In the order in which they are read."""
    return sorted(findings, key=lambda one: -_ORDER.index(one.severity))


def note(code: str, subject: str, message: str, fix: str) -> Finding:
    """Worth knowing, and nothing is lost by it."""
    return Finding(code, "note", subject, message, fix)


def warning(code: str, subject: str, message: str, fix: str) -> Finding:
    """Something is lost by it, or will be."""
    return Finding(code, "warning", subject, message, fix)


def error(code: str, subject: str, message: str, fix: str) -> Finding:
    """Something does not work."""
    return Finding(code, "error", subject, message, fix)
