"""A finding: what is wrong, or worth knowing, and what to do about it. Its codes are a contract (`docs/doctor.md`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

SEVERITIES = ("error", "warning", "note", "ok")
"""Something does not work; something is lost or will be; worth knowing; was wrong and is mended."""


@dataclass(frozen=True)
class Finding:
    """One finding.

    Args:
        code: upper-case words; what scripts go by.
        subject: a client's name, or one of `store`, `home`, `switches`, `settings`, `command`, `model`, `cluster`,
            `exporter`.
        message: what is wrong, in one sentence.
        fix: a command that runs as printed, or one sentence.
    """

    severity: Literal["ok", "note", "warning", "error"]
    code: str
    subject: str
    message: str
    fix: str = ""


mended = partial(Finding, "ok")
note = partial(Finding, "note")
warning = partial(Finding, "warning")
error = partial(Finding, "error")


def in_order(found: Sequence[Finding], subjects: Sequence[str]) -> list[Finding]:
    """By subject, the worst first, each once: whoever reads a damaged store says so in his words."""
    unique: dict[object, Finding] = {}
    for one in found:
        unique.setdefault((one.code, one.subject, one.code == "STORE_DAMAGED" or one.message), one)
    return sorted(unique.values(), key=lambda one: (subjects.index(one.subject), SEVERITIES.index(one.severity)))
