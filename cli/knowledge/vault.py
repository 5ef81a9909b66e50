"""`joelclaw vault read` and `vault search`: the notes of one folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, refuse_terminal, write_verbatim
from memory.vault import notes, reference
from memory.vault import search as finding

if TYPE_CHECKING:
    from core.envelope import NextAction


def read(options: dict[str, Any]) -> Answer | int:
    """The notes that a reference means, each with its first 500 lines.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without a vault; NO_MATCH; VAULT_INVALID_ARGS for `--verbatim` to a terminal.
    """
    if options["verbatim"]:
        refuse_terminal("VAULT_INVALID_ARGS")
    asked = " ".join(options["ref"])
    root = reference.root()
    found = notes.find(root, asked)
    if options["verbatim"]:
        return write_verbatim("".join(content.content for _, content in found))
    return Answer(
        {
            "ref": asked,
            "vault_root": root,
            "resolved": [asdict(content) for _, content in found],
            "resolution": [asdict(one) for one, _ in found],
        },
        [],
        "\n".join(f"[file {one.path}]\n" + content.content.rstrip("\n") for one, content in found)
        if options["raw"]
        else None,
    )


def search(options: dict[str, Any]) -> Answer:
    """Notes by their words, or by meaning where the vault was synced.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without a vault; KNOWLEDGE_SEARCH_FAILED with `--semantic`.
    """
    root = reference.root()
    query = options["query"]
    fallback = None
    if options["semantic"]:
        hits, found, synced = finding.by_meaning(root, query, limit=options["limit"], below=root)
        if synced:
            return Answer(
                {"query": query, "vault_root": root, "mode": "semantic", "found": found, "hits": hits},
                _read_first([hit["path"] for hit in hits]),
            )
        fallback = {"from": "semantic", "to": "text", "reason": "the vault was never synced"}
    report = finding.by_words(root, query, limit=options["limit"], seconds=reference.SLOWEST_S)
    result: dict[str, Any] = {
        "query": query,
        "vault_root": root,
        "mode": "text",
        "found": report.found,
        "hits": report.hits,
        "files": report.files,
        "complete": report.complete,
        "skipped": report.skipped,
        "limit": options["limit"],
        "total_matches": report.found,
        "matches": [{"path": one["path"], "line": one["line"], "context": one["snippet"]} for one in report.hits],
    }
    actions = _read_first([hit["path"] for hit in report.hits])
    if fallback:
        result["fallback"] = fallback
        actions.append(_sync(root))
    return Answer(result, actions)


def _read_first(paths: list[str]) -> list[NextAction]:
    if not paths:
        return []
    about = {"description": "its path", "value": paths[0], "required": True}
    return [{"command": "joelclaw vault read <ref>", "description": "the whole note", "params": {"ref": about}}]


def _sync(root: str) -> NextAction:
    return {"command": f"joelclaw knowledge sync {root}", "description": "take the vault in, to search it by meaning"}
