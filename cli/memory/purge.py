"""`joelclaw memory forget --purge`: asks, deletes, and shows what went."""

from __future__ import annotations

import os
import sys
from typing import Any

from cli.answer import Answer, quoted, step
from core import clock, config
from core.errors import usage

_CODE = "MEMORY_INVALID_ARGS"
_FILTERS = ("session", "project", "before", "match")
_LEAST_MATCH = 3


def run(options: dict[str, Any]) -> Answer:
    """Delete what fits for good, or say what would go."""
    before = _checked(options)
    from session.backup.purge import Purge

    purge = Purge(
        config.load(),
        options["ids"],
        session=(options["session"] or "").strip(),
        project=options["project"].strip(),
        before=before,
        match=options["match"],
    )
    if options["dry_run"]:
        return Answer(purge.result(done=False), [step(_same(options), "delete it for good")])
    if not options["yes"] and not _agreed(purge.result(done=False)):
        return Answer({"declined": "nothing was deleted"})
    result = purge.run()
    actions = [step("joelclaw store sync", "carry the deletion to the cluster")] if result["cluster"] else []
    return Answer(result, [*actions, step("joelclaw memory stats", "what is left")])


def _checked(options: dict[str, Any]) -> int | None:
    """The day of `--before` in ms; None for none."""
    given = [name for name in _FILTERS if options[name]]
    if not options["purge"]:
        alone = next((f"--{name}" for name in ("project", "before", "match") if options[name]), "--yes and --dry-run")
        raise usage(_CODE, f"{alone} goes with --purge", "give --purge, which deletes for good; see --dry-run")
    if options["undo"]:
        raise usage(_CODE, "what is purged cannot be brought back", "leave --undo or --purge out")
    if bool(options["ids"]) == bool(given):
        wrong = "ids and filters do not go together" if given else "nothing says what is to go"
        raise usage(_CODE, wrong, "give ids, or some of --session, --project, --before and --match")
    if options["match"] and len(options["match"].strip()) < _LEAST_MATCH:
        raise usage(_CODE, "--match is too short", f"give {_LEAST_MATCH} characters or more")
    before = None
    if options["before"]:
        before = clock.parse_iso(options["before"])
        if before is None:
            raise usage(_CODE, f"--before is {options['before'][:60]!r}, which is no day", "give it as 2026-01-31")
    if not options["dry_run"] and not options["yes"] and not _on_terminal():
        raise usage(_CODE, "--purge deletes for good, and nobody can be asked here", "give --yes, or --dry-run first")
    return before


def _on_terminal() -> bool:
    try:
        return os.isatty(0) and os.isatty(1) and "--json" not in sys.argv
    except OSError:
        return False


def _same(options: dict[str, Any]) -> str:
    words = [quoted(one) for one in options["ids"]]
    words += [f"--{name} {quoted(options[name])}" for name in _FILTERS if options[name]]
    return f"joelclaw memory forget --purge {' '.join(words)} --yes"


def _agreed(expected: dict[str, Any]) -> bool:
    from cli.terminal import told

    told(Answer(expected))
    sys.stdout.write("delete it for good? [y/N] ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stdout.write("\n")
    return answer.strip().lower() in ("y", "yes")
