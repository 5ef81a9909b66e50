"""`joelclaw vault …`: the notes of one folder, what lies in it, and its decision records (`vault adr`)."""

from typing import Any

from cli.answer import Answer, quoted, refuse_terminal, step, write_verbatim
from core.errors import FAILED, Failure, usage
from memory.knowledge import decision_review, decisions, vault

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


def read(options: dict[str, Any]) -> Answer | int:
    """The notes that a reference means, each with its first 500 lines."""
    if options["verbatim"]:
        refuse_terminal(_CODE)
    asked = " ".join(options["ref"])
    root = vault.root()
    found = vault.find(root, asked)
    if options["verbatim"]:
        return write_verbatim("".join(note["content"] for _, note in found))
    result = {
        "ref": asked,
        "vault_root": root,
        "resolved": [note for _, note in found],
        "resolution": [{"path": path, "reason": reason, "score": score} for (path, reason, score), _ in found],
    }
    text = "\n".join(f"[file {path}]\n" + note["content"].rstrip("\n") for (path, *_), note in found)
    return Answer(result, [], text if options["raw"] else None)


def search(options: dict[str, Any]) -> Answer:
    """Notes by their words, or by meaning where the vault was synced."""
    root = vault.root()
    query, limit = options["query"], options["limit"]
    result: dict[str, Any] = {"query": query, "vault_root": root}
    steps = []
    if options["semantic"]:
        hits, found, synced = vault.by_meaning(root, query, limit=limit, below=root)
        if synced:
            return Answer({**result, "mode": "semantic", "found": found, "hits": hits}, _read_first(hits))
        result["fallback"] = {"from": "semantic", "to": "text", "reason": "the vault was never synced"}
        steps.append(step(f"joelclaw knowledge sync {root}", "import the vault, to search it by meaning"))
    report = vault.by_words(root, query, limit=limit)
    matches = [{"path": one["path"], "line": one["line"], "context": one["snippet"]} for one in report["hits"]]
    result |= {"mode": "text", **report, "limit": limit, "total_matches": report["found"], "matches": matches}
    return Answer(result, [*_read_first(report["hits"]), *steps])


def _read_first(hits: list[dict[str, Any]]) -> list[Any]:
    if not hits:
        return []
    about = {"description": "its path", "value": hits[0]["path"], "required": True}
    return [step("joelclaw vault read <ref>", "the whole note", {"ref": about})]


def ls(options: dict[str, Any]) -> Answer:
    """How many entries each part of the vault has, or the entries of one."""
    root = vault.root()
    section = (options["section"] or "").strip().lower()
    if not section:
        counts = {name: len(decisions.entries(root, name)) for name in decisions.SECTIONS}
        steps = [step(f"joelclaw vault ls {name}", f"the {name}") for name in counts]
        return Answer({"vault_root": root, "sections": counts}, steps)
    if section not in decisions.SECTIONS:
        known = ", ".join(decisions.SECTIONS)
        raise usage("INVALID_SECTION", f"there is no section {section[:80]!r}", f"use one of {known}")
    items = decisions.entries(root, section)
    first = items[0]["path"] if items and isinstance(items[0], dict) else ""
    return Answer(
        {"vault_root": root, "section": section, "count": len(items), "items": items},
        [step(f"joelclaw vault read {quoted(first)}", "the first of them")] if first else [],
    )


def tree(_options: dict[str, Any]) -> Answer:
    """The folders of the vault, two levels deep."""
    root = vault.root()
    result = {"vault_root": root, "max_depth": 2, "directories": decisions.folders(root)}
    return Answer(result, [step("joelclaw vault ls", "what its parts hold")])


def adr(options: dict[str, Any]) -> Answer:
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
        return Answer(decisions.refs(records, query))
    if verb == "prompt":
        return Answer(decisions.expand(records, query))
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
