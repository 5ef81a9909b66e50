"""`joelclaw recall` in the composed form of the public CLI: a scope, an access decision, and three ranked lanes.

The lanes are reflections (what `memory observe` recorded), observations (all other written memories) and curated pages
(knowledge). Each is ranked by itself. Everything is as in the version of the public CLI of 2026-08-23, so that the
programs that read its answers read ours; workstreams are only repeated in the answer, since there are none here.
"""

from __future__ import annotations

import os

from cli.input import read_object
from core import TYPE_CHECKING, clock, files, json_text, project
from core.errors import Failure
from core.store import documents, sqlite
from recall.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from core.records import Hit

LANES = {
    "flowingReflections": ("flowing-reflections", "reflections"),
    "flowingObservations": ("flowing-observations", "observations"),
    "curatedPages": ("curated-pages", "curated"),
}
"""The key of each lane, its name, and the key of its limit."""
_TIERS = ("public", "private", "sensitive")


def answer(options: Mapping[str, Any], ask: Callable[[Query], dict[str, Any]]) -> dict[str, Any]:
    """The result of a request that is given by options, on stdin or in a file. Raises Failure RECALL_…."""
    request = _checked(_given_request(options) if options["request_file"] else _request_of(options))
    queries = [
        Query(
            request["text"], limit=100, min_score=options["min_score"], budget=options["budget"],
            category=options["category"] or "", collections=(collection,), isolated=True,
            project=_known_project(request["scope"]["project"]), include_hold=options["include_hold"],
            include_discard=options["include_discard"], include_superseded=request["includeSuperseded"],
        )
        for collection in ("observations", "knowledge")
    ]  # fmt: skip
    written, curated = map(ask, queries)
    tiers, found = request["access"]["allowedPrivacy"], 0
    lanes: dict[str, list[Hit]] = {lane: [] for _, lane in LANES.values()}
    for hit in (*written["hits"], *curated["hits"]):
        lane = "curated" if hit["collection"] == "knowledge" else "observations"
        lane = "reflections" if hit["source"] == "observe" else lane
        if _tier(hit) in tiers:
            found += 1
            lanes[lane] += [hit] * (len(lanes[lane]) < request["limits"][lane])
    hits = [hit for _, lane in LANES.values() for hit in lanes[lane]]
    result = {
        **written, "hits": hits, "count": len(hits), "found": found,
        "droppedByTrustPass": written["droppedByTrustPass"] + curated["droppedByTrustPass"],
        "droppedDiagnostics": [],  # their texts may not be allowed
        "adapter": "flowing-memory-recall", "composed": _composed(request, lanes),
    }  # fmt: skip
    if options["limit"] is not None:
        flags = "--reflection-limit/--observation-limit/--curated-limit"
        result["compatibility"] = {"deprecatedFlag": "--limit", "disposition": "ignored", "replacement": flags}
    return result


def _composed(request: dict[str, Any], lanes: dict[str, list[Hit]]) -> dict[str, Any]:
    """The lanes, with what was asked, in the form of the public CLI."""
    return {
        "_tag": "ComposedRecallResultV1", "schemaVersion": 1, "request": request,
        "resolvedScope": request["scope"], "resolvedAccess": request["access"],
        "lanes": {
            key: {
                "_tag": "RecallLaneAvailableV1", "lane": name, "source": "joelclaw",
                "scoreScale": "bm25-negated" if limit == "curated" else "unit-interval",
                "health": {"_tag": "Healthy"},
                "items": [_item(request, name, at, hit) for at, hit in enumerate(lanes[limit], 1)],
            }
            for key, (name, limit) in LANES.items()
        },
        "unavailable": [],  # a lane without memories of its kind is empty
    }  # fmt: skip


def _item(request: dict[str, Any], lane: str, rank: int, hit: Hit) -> dict[str, Any]:
    text = " ".join(hit["observation"].split())
    return {
        "lane": lane, "rank": rank, "id": hit["id"], "kind": hit["type"], "title": (hit["title"] or text)[:120],
        "summary": text[:1_000], "score": hit["score"], "privacy": _tier(hit), "scope": request["scope"],
        "scopeBinding": "record-scope" if hit["project"] else "retrieval-scope",
        "evidenceIds": [] if lane == "curated-pages" else [hit["session"] or hit["id"]],
    }  # fmt: skip


def _tier(hit: Hit) -> str:
    """How private a memory is: as it says, else private; sensitive if it says something unknown."""
    return hit["privacy"] if hit["privacy"] in _TIERS else "sensitive" if hit["privacy"] else "private"


def _known_project(key: str) -> str:
    """The project that a scope means: its name, OWNER/NAME, or OWNER.NAME as the public CLI writes it."""
    known = documents.projects(sqlite.open_or_empty())
    names = (key, key.replace(".", "/", 1))
    by_name = (name for name in names if any(project.same(name, other) for other in known))
    return next(by_name, next((other for other in known if _key_of(other) == key), key))


def _key_of(name: str) -> str:
    """A project's name as a scope has it: in lower case, with `-` for signs that a key may not have."""
    signs = (sign if sign.isascii() and (sign.isalnum() or sign in "._/-") else "-" for sign in name.lower())
    return "".join(signs).strip("._/-")


# Requests


def _given_request(options: Mapping[str, Any]) -> Any:
    """The request on stdin or in a file that only its owner can read."""
    if options["query"] or options["batch"] is not None:
        fix = "leave out the query, or --request-file"
        raise Failure("RECALL_INPUT_AMBIGUOUS", "a query and --request-file cannot be used together", fix)
    place, most_bytes = options["request_file"], 1_000_000
    try:
        if place != "-":
            files.require_file(place)
            if os.stat(place).st_mode & 0o077:
                raise OSError("others can read or write the file")
        data = read_object(most_bytes) if place == "-" else files.read_file(place, most_bytes)
        return json_text.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        fix = "give a JSON object on stdin (--request-file -), or in a file of mode 0600"
        why = (error.strerror or f"{error}") if isinstance(error, OSError) else "it is not JSON, or too long"
        raise Failure("RECALL_REQUEST_UNREADABLE", f"the request cannot be read: {why}", fix) from None


def _request_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The request that the options make."""
    if not options["query"]:
        raise Failure("RECALL_QUERY_REQUIRED", "no query was given", "give a query, or --request-file -")
    limits = {lane: options[f"{lane.removesuffix('s')}_limit"] for _, lane in LANES.values()}
    limits = {lane: 5 if limit is None else limit for lane, limit in limits.items()}
    if not all(map(_is_limit, limits.values())):
        raise Failure("RECALL_LIMIT_INVALID", "a lane's limit is out of range", "give each lane a limit from 1 to 50")
    name, workstream = options["project"], options["workstream"]
    missing = [flag for flag, value in (("--project", name), ("--workstream", workstream)) if not value]
    if not (name or workstream):
        name, workstream = _key_of(project.repository_of(files.current_folder())), "main"
    if not (name and workstream):
        fix = f"give {' and '.join(missing)}" + (", or run it in a repository" if len(missing) > 1 else "")
        raise Failure("RECALL_SCOPE_REQUIRED", "the scope needs a project and a workstream", fix)
    tiers = "public,private" if options["allowed_privacy"] is None else options["allowed_privacy"]
    access = {
        "_tag": "RecallAccessV1", "allowedPrivacy": [tier.strip() for tier in tiers.split(",")],
        "decidedAt": clock.iso(clock.now_ms()), "principalRef": options["principal_ref"] or "operator:joel",
        "purpose": options["purpose"] or "interactive-recall",
    }  # fmt: skip
    return {
        "_tag": "ComposedRecallRequestV1", "schemaVersion": 1, "text": " ".join(options["query"]),
        "scope": {"_tag": "ProjectWorkstream", "project": name.lower(), "workstream": workstream.lower()},
        "access": access, "includeSuperseded": options["include_superseded"], "limits": limits,
    }  # fmt: skip


def _checked(request: Any) -> dict[str, Any]:
    """The request, if it has the form of the public CLI. Raises Failure RECALL_REQUEST_INVALID."""
    checks = {
        "_tag": "ComposedRecallRequestV1".__eq__, "schemaVersion": lambda value: value is not True and value == 1,
        "text": lambda value: _is_text(value, 1_000), "includeSuperseded": lambda value: isinstance(value, bool),
        "scope._tag": "ProjectWorkstream".__eq__, "scope.project": _is_key, "scope.workstream": _is_key,
        "access._tag": "RecallAccessV1".__eq__, "access.allowedPrivacy": _are_tiers,
        "access.decidedAt": lambda value: _is_text(value, 100) and clock.parse_iso(value) is not None,
        "access.principalRef": _is_text, "access.purpose": _is_text,
        **dict.fromkeys(("limits.curated", "limits.observations", "limits.reflections"), _is_limit),
    }  # fmt: skip
    for path, is_valid in checks.items():
        value = request
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if is_valid(value) is not True:
            fix = "see docs/contract/recall-request.schema.json; joelclaw recall QUERY needs no request"
            raise Failure("RECALL_REQUEST_INVALID", f"{path} is missing or has a wrong value", fix)
    return {name: request[name] for name in request if name in {path.partition(".")[0] for path in checks}}


def _is_text(value: Any, most: int = 16_000) -> bool:
    return isinstance(value, str) and len(value.strip()) > 0 and len(value) <= most


def _is_key(value: Any) -> bool:
    return _is_text(value, 240) and value == _key_of(value)


def _are_tiers(value: Any) -> bool:
    tiers = value if isinstance(value, list) else []
    return bool(tiers) and all(tier in _TIERS and tiers.count(tier) == 1 for tier in tiers)


def _is_limit(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 50
