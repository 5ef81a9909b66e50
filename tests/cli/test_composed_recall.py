"""`recall` in the composed form of the public CLI: a request on stdin or in a file, three lanes, six errors."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import NOW, ROOT, Attempt, Run

from core.store import sqlite

REQUEST = {
    "_tag": "ComposedRecallRequestV1", "schemaVersion": 1, "text": "how are rows of the importer read",
    "scope": {"_tag": "ProjectWorkstream", "project": "acme/quay", "workstream": "main"},
    "access": {
        "_tag": "RecallAccessV1", "allowedPrivacy": ["public", "private"], "decidedAt": "2026-08-23T10:00:00Z",
        "principalRef": "operator:joel", "purpose": "explicit-agent-recall",
    },
    "includeSuperseded": False, "limits": {"curated": 5, "observations": 2, "reflections": 5},
}  # fmt: skip
LANES = {"flowingReflections": "reflections", "flowingObservations": "observations", "curatedPages": "curated"}


def ask(run: Run, request: Any = REQUEST, *words: str, ok: bool = True) -> Attempt:
    text = request if isinstance(request, str) else json.dumps(request)
    return run("recall", "--request-file", "-", *words, stdin=text, env=NOW, ok=ok)


def changed(path: str, value: Any) -> Any:
    request = json.loads(json.dumps(REQUEST))
    place = request
    *names, last = path.split(".")
    for name in names:
        place = place[name]
    place[last] = value
    return request


@pytest.fixture
def filled(run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Memories of each kind; their ids by name."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "importer.md").write_text("# Importer\n\nThe importer reads rows of the quay in one transaction.\n")
    run("knowledge", "sync", str(notes), env=NOW)
    texts = {
        "own": ("The importer reads rows in batches of 1,500", "--project", "acme/quay"),
        "observed": ("The importer of rows was slow before it read batches", "--project", "acme/quay"),
        "secret": ("The rows of the importer are read with the key of the mayor", "--project", "acme/quay"),
        "other": ("The importer of the mole reads rows one by one", "--project", "acme/mole"),
        "global": ("An importer reads rows as a stream, never as a list", "--global"),
        "third": ("Rows that the importer cannot read go to a file", "--project", "acme/quay"),
    }
    ids = {name: run("memory", "write", *words, env=NOW).result["id"] for name, words in texts.items()}
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    with sqlite.transaction(db):
        db.execute("UPDATE document SET source = 'observe' WHERE id = ?", (ids["observed"],))
        db.execute("UPDATE document SET privacy = 'sensitive' WHERE id = ?", (ids["secret"],))
    db.close()
    return ids


def ids_of(result: Any, lane: str) -> list[str]:
    return [item["id"] for item in result["composed"]["lanes"][lane]["items"]]


def test_each_lane_has_its_kind_within_scope_privacy_and_limits(run: Run, filled: dict[str, str]) -> None:
    result = ask(run).result
    assert ids_of(result, "flowingReflections") == [filled["observed"]]
    observed = ids_of(result, "flowingObservations")
    assert len(observed) == 2 and set(observed) <= {filled["own"], filled["global"], filled["third"]}
    assert len(ids_of(result, "curatedPages")) == 1
    assert [hit["id"] for hit in result["hits"]] == [name for lane in LANES for name in ids_of(result, lane)]
    composed = result["composed"]
    assert (composed["request"], composed["unavailable"]) == (REQUEST, [])
    assert composed["resolvedScope"] == REQUEST["scope"] and composed["resolvedAccess"] == REQUEST["access"]
    for lane in composed["lanes"].values():
        assert [item["rank"] for item in lane["items"]] == [*range(1, len(lane["items"]) + 1)]
        assert all(item["scope"] == REQUEST["scope"] for item in lane["items"])
    assert "mayor" not in json.dumps(result)
    sensitive = ask(run, changed("access.allowedPrivacy", ["sensitive"])).result
    assert [hit["id"] for hit in sensitive["hits"]] == [filled["secret"]]
    assert ids_of(ask(run, changed("scope.project", "acme.quay")).result, "flowingReflections") == [filled["observed"]]


def test_options_make_the_same_request(run: Run, filled: dict[str, str], tmp_path: Path) -> None:
    words = ("--project", "acme/quay", "--workstream", "main", "--observation-limit", "2", "--limit", "9")
    by_options = run("recall", str(REQUEST["text"]), *words, env=NOW).result
    by_request = ask(run).result
    assert all(ids_of(by_options, lane) == ids_of(by_request, lane) for lane in LANES)
    assert by_options["compatibility"]["deprecatedFlag"] == "--limit" and "compatibility" not in by_request
    assert "composed" not in run("recall", str(REQUEST["text"]), "--project", "acme/quay", env=NOW).result
    repository = tmp_path / "Quay Tools" / ".git"
    repository.mkdir(parents=True)
    (repository / "HEAD").write_text("ref: refs/heads/main\n")
    own = run("memory", "write", "Rows are read by the importer of these tools", env=NOW, cwd=repository.parent).result
    here = run("recall", str(REQUEST["text"]), "--curated-limit", "1", env=NOW, cwd=repository.parent).result
    assert own["id"] in ids_of(here, "flowingObservations") and filled["own"] not in json.dumps(here)
    assert here["composed"]["resolvedScope"]["project"] == "quay-tools"
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    file.chmod(0o600)
    by_file, again = run("recall", "--request-file", str(file), env=NOW).result, ask(run).result
    assert all(ids_of(by_file, lane) == ids_of(again, lane) for lane in LANES)


def test_replaced_memories_are_found_on_request(run: Run, filled: dict[str, str]) -> None:
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    with sqlite.transaction(db):
        db.execute("UPDATE document SET superseded_by = ? WHERE id = ?", (filled["global"], filled["observed"]))
    db.close()
    assert ids_of(ask(run).result, "flowingReflections") == []
    found = ask(run, changed("includeSuperseded", True)).result
    assert ids_of(found, "flowingReflections") == [filled["observed"]]


INVALID = {
    "_tag": ["ComposedRecallRequestV2"], "schemaVersion": [True, 2], "text": [" ", "x" * 1_001], "scope": [None],
    "scope.project": ["Acme"], "access.allowedPrivacy": [[], ["secret"], [[]], ["public", "public"]],
    "access.decidedAt": ["yesterday"], "access.purpose": [""], "limits.curated": [51, True, 0, "5"],
}  # fmt: skip


@pytest.mark.parametrize(("request_", "words", "code"), [
    (REQUEST, ("query",), "RECALL_INPUT_AMBIGUOUS"),
    ("", (), "RECALL_REQUEST_UNREADABLE"),
    ("{", (), "RECALL_REQUEST_UNREADABLE"),
    ("[]", (), "RECALL_REQUEST_INVALID"),
    *((changed(path, value), (), "RECALL_REQUEST_INVALID") for path, values in INVALID.items() for value in values),
    (None, ("--workstream", "main"), "RECALL_QUERY_REQUIRED"),
    (None, ("x", "--workstream", "main"), "RECALL_SCOPE_REQUIRED"),
    (None, ("x", "--project", "acme/quay", "--purpose", "test"), "RECALL_SCOPE_REQUIRED"),
    (None, ("x", "--allowed-privacy", "public"), "RECALL_SCOPE_REQUIRED"),
    (None, ("x", "--curated-limit", "0"), "RECALL_LIMIT_INVALID"),
    (None, ("x", "--project", "a", "--workstream", "m", "--observation-limit", "51"), "RECALL_LIMIT_INVALID"),
    (None, ("x", "--project", "a", "--workstream", "m", "--allowed-privacy", "secret"), "RECALL_REQUEST_INVALID"),
])  # fmt: skip
def test_faults(run: Run, request_: Any, words: tuple[str, ...], code: str) -> None:
    failed = run("recall", *words, env=NOW, ok=False) if request_ is None else ask(run, request_, *words, ok=False)
    assert (failed.code, failed.json["error"]["code"], bool(failed.json["fix"])) == (1, code, True)


@pytest.mark.parametrize(("given", "missing"), [("--workstream", "--project"), ("--project", "--workstream")])
def test_the_fix_of_half_a_scope_names_the_other_half(run: Run, given: str, missing: str) -> None:
    failed = run("recall", "x", "--purpose", "test", given, "main", env=NOW, ok=False)
    assert failed.json["fix"] == f"give {missing}"


def test_a_file_that_others_can_read_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    assert ask(run, "{", "--raw", ok=False).out == ""
    for mode, place in ((0o640, file), (0o602, file), (0o600, pipe), (0o700, tmp_path), (0o600, tmp_path / "none")):
        if place.exists():
            place.chmod(mode)
        failed = run("recall", "--request-file", str(place), env=NOW, ok=False)
        assert failed.json["error"]["code"] == "RECALL_REQUEST_UNREADABLE"


def test_answers_and_requests_match_their_schemas(run: Run) -> None:
    schemas = {name: json.loads(Path(ROOT, f"docs/contract/{name}.schema.json").read_text()) for name in (
        "recall", "recall-request")}  # fmt: skip
    jsonschema.Draft202012Validator(schemas["recall-request"]).validate(REQUEST)
    empty = ask(run, REQUEST, "--limit", "3").result
    assert (empty["hits"], empty["composed"]["unavailable"]) == ([], [])
    run("memory", "write", "The importer reads rows in batches of 1,500", "--global", env=NOW)
    for result in (empty, ask(run).result):
        jsonschema.Draft202012Validator(schemas["recall"]).validate(result)
    assert run("status", env=NOW, ok=True).result["recall"]["answeringLanes"]
