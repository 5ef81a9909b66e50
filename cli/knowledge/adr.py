"""`joelclaw vault adr`: the decision records of the vault, and their upkeep."""

from typing import Any

from cli.answer import Answer, step
from core.errors import FAILED, Failure, usage
from memory.knowledge import decision_links, decision_review, decisions, vault

_CODE = "VAULT_INVALID_ARGS"
_VERBS = {
    "list": "joelclaw vault adr list [--status STATUS] [--limit LIMIT]",
    "locate": "joelclaw vault adr locate QUERY [--limit LIMIT]",
    "refs": "joelclaw vault adr refs QUERY",
    "prompt": "joelclaw vault adr prompt TEXT",
    "collisions": "joelclaw vault adr collisions",
    "audit": "joelclaw vault adr audit",
    "rank": "joelclaw vault adr rank [--band BAND] [--unscored] [--all]",
    "next": "joelclaw vault adr next [--count COUNT]",
}
_ASKING = ("locate", "refs", "prompt")
_LISTED, _LOCATED, _MOST_LOCATED = 200, 10, 50


def run(options: dict[str, Any]) -> Answer:
    """What a verb asks of the records; without one, what there is to ask."""
    verb, query = options["verb"], options["query"]
    if verb in _ASKING and not (query or "").strip():
        raise usage(_CODE, f"`vault adr {verb}` was given nothing to look for", f"run: {_VERBS[verb]}")
    if verb not in _ASKING and query is not None:
        raise usage(_CODE, f"`vault adr {verb or ''}` takes no further word", "leave it out, or use locate")
    root = vault.root()
    if not verb:
        about = {"description": "The decision records of the vault.", "vault_root": root, "subcommands": dict(_VERBS)}
        return Answer(about, [step("joelclaw vault adr list", "all of them")])
    records = decisions.every(root)
    if verb == "list":
        return _listed(options, records)
    if verb == "locate":
        return _located(query, records, options["limit"])
    if verb == "refs":
        return Answer(decision_links.refs(records, query))
    if verb == "prompt":
        return Answer(decision_links.expand(records, query))
    if verb == "collisions":
        collisions = decisions.collisions(records)
        return Answer({"total": len(records), "collision_count": len(collisions), "collisions": collisions})
    if verb == "audit":
        found = decision_review.audit(root, records)
        return Answer(found, exit_code=0 if found["ok"] else FAILED)
    if verb == "rank":
        return _ranked(options, records)
    return Answer(decision_review.recommend(records, options["count"]))


def _located(query: str, records: list[decisions.Record], limit: int | None) -> Answer:
    most = min(limit or _LOCATED, _MOST_LOCATED)
    matches = decisions.locate(records, query, most)
    if not matches:
        raise Failure("NO_MATCH", f"there is no decision record {query[:200]!r}", "list them: joelclaw vault adr list")
    result = {"query": query, "limit": most, "total_matches": len(matches), "matches": matches}
    return Answer(result, [step(f"joelclaw vault read ADR-{matches[0]['number']}", "the whole record")])


def _listed(options: dict[str, Any], records: list[decisions.Record]) -> Answer:
    status = (options["status"] or "").strip().lower()
    if status and status not in decisions.STATUSES:
        known = ", ".join(decisions.STATUSES)
        raise usage("INVALID_ADR_STATUS", f"there is no status {status[:80]!r}", f"use one of {known}")
    chosen = [one for one in records if not status or one.status == status]
    limit = options["limit"] or _LISTED
    keys = ("number", "title", "status", "date", "filename")
    result = {
        "total": len(records),
        "filtered": len(chosen),
        "status_filter": status or None,
        "limit": limit,
        "collisions": len(decisions.collisions(records)),
        "items": [{key: getattr(one, key) for key in keys} for one in chosen[:limit]],
    }
    return Answer(result, [step(f"joelclaw vault read ADR-{chosen[0].number}", "the first of them")] if chosen else [])


def _ranked(options: dict[str, Any], records: list[decisions.Record]) -> Answer:
    """The open records by the score that they declare, and those that declare none."""
    band = "do-next" if options["band"] == "next" else options["band"]
    rows = [
        {"number": one.number, "title": one.title, "status": one.status, **decisions.priority(one)}
        for one in records
        if options["all"] or one.status in ("accepted", "proposed")
    ]
    scored = sorted((row for row in rows if row["score"] is not None), key=lambda row: (-row["score"], row["number"]))
    missing = [row for row in rows if row["score"] is None]
    ranked = [row for row in scored if not options["unscored"] and band in (None, row["band"])]
    counts = {"total_open": len(rows), "scored": len(scored), "unscored": len(missing)}
    return Answer({"ranked": ranked, "missing_scores": missing, **counts})
