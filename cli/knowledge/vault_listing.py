"""`joelclaw vault ls`, `tree` and `adr`: what lies in the vault, and its decision records."""

from __future__ import annotations

from typing import Any

from cli.answer import Answer, quoted, step
from core.errors import Failure, usage
from memory.vault import listing, records, reference

_CODE = "VAULT_INVALID_ARGS"
_VERBS = {
    "list": "joelclaw vault adr list [--status STATUS] [--limit LIMIT]",
    "locate": "joelclaw vault adr locate QUERY [--limit LIMIT]",
    "collisions": "joelclaw vault adr collisions",
}


def ls(options: dict[str, Any]) -> Answer:
    """How many entries each part of the vault has, or the entries of one.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without a vault; INVALID_SECTION.
    """
    root = reference.root()
    section = (options["section"] or "").strip().lower()
    if not section:
        return Answer(
            {"vault_root": root, "sections": listing.counts(root)},
            [step(f"joelclaw vault ls {name}", f"the {name}") for name in listing.SECTIONS],
        )
    if section not in listing.SECTIONS:
        known = ", ".join(listing.SECTIONS)
        raise usage("INVALID_SECTION", f"there is no section {section[:80]!r}", f"use one of {known}")
    items = listing.entries(root, section)
    first = items[0]["path"] if items and isinstance(items[0], dict) else ""
    return Answer(
        {"vault_root": root, "section": section, "count": len(items), "items": items},
        [step(f"joelclaw vault read {quoted(first)}", "the first of them")] if first else [],
    )


def tree(_options: dict[str, Any]) -> Answer:
    """The folders of the vault, two deep.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without a vault.
    """
    root = reference.root()
    return Answer(
        {"vault_root": root, "max_depth": listing.DEPTH, "directories": listing.folders(root)},
        [step("joelclaw vault ls", "what its parts hold")],
    )


def adr(options: dict[str, Any]) -> Answer:
    """The decision records: listed, located, or those that share a number; without a word what there is to ask.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without a vault; INVALID_ADR_STATUS; VAULT_INVALID_ARGS; NO_MATCH.
    """
    verb, query = options["verb"], options["query"]
    if verb == "locate" and not (query or "").strip():
        raise usage(_CODE, "what to locate is not given", "name it: joelclaw vault adr locate 203")
    if verb != "locate" and query is not None:
        raise usage(_CODE, f"`vault adr {verb or ''}` takes no further word", "leave it out, or use locate")
    root = reference.root()
    if not verb:
        return Answer(
            {"description": "The decision records of the vault.", "vault_root": root, "subcommands": dict(_VERBS)},
            [step("joelclaw vault adr list", "all of them")],
        )
    catalog = records.every(root)
    if verb == "list":
        return _listed(catalog, options)
    if verb == "collisions":
        found = records.collisions(catalog)
        return Answer({"total": len(catalog), "collision_count": len(found), "collisions": found})
    return _located(catalog, query, options["limit"] or 10)


def _listed(catalog: list[records.Record], options: dict[str, Any]) -> Answer:
    status = (options["status"] or "").strip().lower()
    if status and status not in records.STATUSES:
        known = ", ".join(records.STATUSES)
        raise usage("INVALID_ADR_STATUS", f"there is no status {status[:80]!r}", f"use one of {known}")
    chosen = [one for one in catalog if not status or one.status == status]
    limit = options["limit"] or 200
    items = [
        {"number": one.number, "title": one.title, "status": one.status, "date": one.date, "filename": one.filename}
        for one in chosen[:limit]
    ]
    result = {
        "total": len(catalog),
        "filtered": len(chosen),
        "status_filter": status or None,
        "limit": limit,
        "collisions": len(records.collisions(catalog)),
        "items": items,
    }
    return Answer(result, [step(f"joelclaw vault read ADR-{items[0]['number']}", "the first of them")] if items else [])


def _located(catalog: list[records.Record], query: str, limit: int) -> Answer:
    matches = records.locate(catalog, query, min(limit, 50))
    if not matches:
        raise Failure(
            "NO_MATCH", f"no decision record is called {query[:200]!r}", "see which there are: joelclaw vault adr list"
        )
    return Answer(
        {"query": query, "limit": min(limit, 50), "total_matches": len(matches), "matches": matches},
        [step(f"joelclaw vault read ADR-{matches[0]['number']}", "the whole record")],
    )
