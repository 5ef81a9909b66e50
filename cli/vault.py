"""`joelclaw vault read` and `vault search`: the notes of one folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli import knowledge as knowledge_cli
from cli.answer import Answer
from core import clock, config
from core.errors import Failure
from core.store import documents, knowledge, sqlite
from memory.knowledge import search as knowledge_search
from memory.vault import reference, search
from memory.vault.reference import Resolution

if TYPE_CHECKING:
    import apsw

    from core.envelope import NextAction
    from memory.knowledge.search import KnowledgeHit
    from memory.vault.reference import Content


def read(options: dict[str, Any]) -> Answer:
    """The notes that a reference means, each with its first 500 lines.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without a vault; NO_MATCH.
    """
    reference = " ".join(options["ref"])
    root = reference.root()
    found = reference.resolve(root, reference)
    contents = [(one, _content(one.path)) for one in found]
    kept: list[tuple[Resolution, Content]] = [(one, content) for one, content in contents if content is not None]
    if found and not kept:
        raise Failure("NO_MATCH", f"{found[0].path} cannot be read as text", "open it with another program")
    if not kept:
        if reference.names_outside(root, reference):
            raise Failure(
                "NO_MATCH",
                f"{reference[:200]!r} is outside the vault {root}",
                "name a note below it, or set VAULT_PATH",
            )
        kept, synced = _by_meaning(root, reference)
        if not kept:
            raise _no_match(root, reference, synced)
    return Answer(
        {
            "ref": reference,
            "vault_root": root,
            "resolved": [asdict(content) for _, content in kept],
            "resolution": [asdict(one) for one, _ in kept],
        },
        [],
        "\n".join(content.content.rstrip("\n") for _, content in kept) if options["raw"] else None,
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
        hits, found, synced = _sections(root, query, options["limit"], below=root)
        if synced:
            return Answer(
                {"query": query, "vault_root": root, "mode": "semantic", "found": found, "hits": hits},
                _read_first([hit["path"] for hit in hits]),
            )
        fallback = {"from": "semantic", "to": "text", "reason": "the vault was never synced"}
    report = search.search(root, query, limit=options["limit"], seconds=reference.SLOWEST_S)
    result: dict[str, Any] = {
        "query": query,
        "vault_root": root,
        "mode": "text",
        "found": report.found,
        "hits": report.hits,
        "files": report.files,
        "complete": report.complete,
        "skipped": report.skipped,
    }
    actions = _read_first([hit["path"] for hit in report.hits])
    if fallback:
        result["fallback"] = fallback
        actions.append(_sync(root))
    return Answer(result, actions)


def _content(path: str) -> Content | None:
    try:
        return reference.read(path)
    except OSError as error:
        raise Failure("NO_MATCH", f"{path} cannot be read: {error.strerror}", "check its permissions") from None


def _by_meaning(root: str, reference: str) -> tuple[list[tuple[Resolution, Content]], bool]:
    """The best sections of synced files, one a file, and whether the vault was synced.

    A note of the vault comes whole; what lies elsewhere comes as the section that the store has of it.
    """
    hits, _, synced = _sections(root, reference, reference.MOST, answering=True)
    found: list[tuple[Resolution, Content]] = []
    for hit in hits:
        path = reference.inside(root, hit["path"]) if hit["path"] else None
        try:
            content = reference.read(path) if path else None
        except OSError:
            content = None  # gone since the last sync
        if content is None:
            content = reference.cut(hit["path"], _section(hit["id"]))
        found.append((Resolution(hit["path"], "semantic", hit["score"]), content))
    return found, synced


def _section(identifier: str) -> str:
    db = sqlite.open_reading()
    document = documents.by_id(db, identifier) if db else None
    return document["text"] if document else ""


def _sections(
    root: str, query: str, limit: int, *, below: str = "", answering: bool = False
) -> tuple[list[KnowledgeHit], int, bool]:
    """Hits, how many there are, and whether any file of the vault is in the store."""
    settings = config.load()
    try:
        db: apsw.Connection | None = sqlite.open_reading()
        if db is None:
            return [], 0, False
        result = knowledge_search.search(
            db,
            query,
            limit=limit,
            below=below,
            # What answers unasked must be as good as what is injected unasked.
            min_score=settings.number("inject.min_score") if answering else 0.0,
            per_file=1 if answering else knowledge_search.PER_FILE,
            now=clock.now_ms(),
            vectors=sqlite.load_vectors(db),
            config=settings,
        )
        return result["hits"], result["found"], knowledge.any_below(db, root)
    except Failure as failure:
        raise knowledge_cli.failed(failure) from None
    except sqlite.StoreError as error:
        raise knowledge_cli.failed(sqlite.as_failure(error)) from None


def _no_match(root: str, reference: str, synced: bool) -> Failure:
    fix = f"look for its words: joelclaw vault search {reference[:80]!r}"
    if not synced:
        fix = f"take the vault in, so that questions find notes by meaning: joelclaw knowledge sync {root}"
    return Failure("NO_MATCH", f"nothing in {root} is called {reference[:200]!r}, or is about it", fix)


def _read_first(paths: list[str]) -> list[NextAction]:
    if not paths:
        return []
    about = {"description": "its path", "value": paths[0], "required": True}
    return [{"command": "joelclaw vault read <ref>", "description": "the whole note", "params": {"ref": about}}]


def _sync(root: str) -> NextAction:
    return {"command": f"joelclaw knowledge sync {root}", "description": "take the vault in, to search it by meaning"}
