"""`joelclaw vault …`: the notes of one folder, what lies in it, and its decision records (`vault adr`)."""

from typing import Any

from cli.answer import Answer, quoted, refuse_terminal, step, write_verbatim
from core.errors import FAILED, usage
from memory.knowledge import decisions, vault

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
_WITH_QUERY = ("locate", "refs", "prompt")


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
        counts = {name: len(vault.entries(root, name)) for name in vault.SECTIONS}
        steps = [step(f"joelclaw vault ls {name}", f"the {name}") for name in counts]
        return Answer({"vault_root": root, "sections": counts}, steps)
    if section not in vault.SECTIONS:
        known = ", ".join(vault.SECTIONS)
        raise usage("INVALID_SECTION", f"there is no section {section[:80]!r}", f"use one of {known}")
    items = vault.entries(root, section)
    first = items[0]["path"] if items and isinstance(items[0], dict) else ""
    return Answer(
        {"vault_root": root, "section": section, "count": len(items), "items": items},
        [step(f"joelclaw vault read {quoted(first)}", "the first of them")] if first else [],
    )


def tree(_options: dict[str, Any]) -> Answer:
    """The folders of the vault, two levels deep."""
    root = vault.root()
    result = {"vault_root": root, "max_depth": 2, "directories": vault.folders(root)}
    return Answer(result, [step("joelclaw vault ls", "what its parts hold")])


def adr(options: dict[str, Any]) -> Answer:
    """What a verb asks of the records; without one, what there is to ask."""
    verb, query = options["verb"], options["query"]
    if verb in _WITH_QUERY and not (query or "").strip():
        raise usage(_CODE, f"`vault adr {verb}` was given nothing to look for", f"run: {_VERBS[verb]}")
    if verb not in _WITH_QUERY and query is not None:
        raise usage(_CODE, f"`vault adr {verb or ''}` takes no further word", "leave it out, or use locate")
    root = vault.root()
    if not verb:
        about = {"description": "The decision records of the vault.", "vault_root": root, "subcommands": dict(_VERBS)}
        return Answer(about, [step("joelclaw vault adr list", "all of them")])
    records = decisions.read_all(root)
    if verb == "list":
        status = (options["status"] or "").strip().lower()
        if status and status not in decisions.STATUSES:
            known = ", ".join(decisions.STATUSES)
            raise usage("INVALID_ADR_STATUS", f"there is no status {status[:80]!r}", f"use one of {known}")
        return Answer(decisions.listing(records, status, options["limit"] or 200))
    if verb == "locate":
        return Answer(decisions.locate(records, query, min(options["limit"] or 10, 50)))
    if verb == "audit":
        result = decisions.audit(root, records)
        return Answer(result, exit_code=0 if result["ok"] else FAILED)
    if verb == "rank":
        band, unscored, closed_too = options["band"] or "", options["unscored"], options["all"]
        return Answer(decisions.rank(records, band=band, only_unscored=unscored, closed_too=closed_too))
    if verb == "next":
        return Answer(decisions.recommend(records, options["count"]))
    if verb == "collisions":
        return Answer(decisions.collisions(records))
    return Answer((decisions.refs if verb == "refs" else decisions.expand)(records, query))
