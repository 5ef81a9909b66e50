"""`joelclaw recall` and `memory search`: search memory, and record the search as an event. Hot path."""

from __future__ import annotations

import os
import time

from cli.input import current_session, time_range
from cli.output import Answer, is_for_person, require_known, runnable, step, template, write_verbatim, wrong_usage
from core import TYPE_CHECKING, clock, config, files, json_text, project
from core.errors import Failure
from core.redaction import redact
from core.store import documents, sessions, sqlite
from core.store.sqlite import COLLECTIONS
from otel import log
from recall import engine, hit
from recall.call_hits import places_query
from recall.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from cli.output import NextAction
    from core.config import Config
    from core.records import Event

COMPOSED = ("request_file", "workstream", "principal_ref", "purpose", "allowed_privacy", "reflection_limit",
            "observation_limit", "curated_limit")  # fmt: skip
"""The options that ask for the composed form (`recall_composed`), with `include_superseded`."""


def recall(**options: Any) -> Answer | int:
    """`joelclaw recall QUERY`, or with --batch many queries."""
    collections = parse_collections(options["collection"], also=("calls",))
    query_text = " ".join(options["query"]) if options["query"] else None
    is_composed = options["include_superseded"] or any(options[name] is not None for name in COMPOSED)
    if options["batch"] is not None and not is_composed:
        if query_text is not None or options["by"]:
            raise wrong_usage("--batch takes no query and no --by", "leave them out, or leave out --batch")
        return _batch(options, collections)
    recalls = RecordedRecall(config.load())
    if is_composed:
        from cli.commands import recall_composed

        result = recall_composed.answer(options, recalls.ask)
        recalls.recalled = [hit["id"] for hit in result["hits"]]
    else:
        is_empty = not (query_text or "").strip() if is_for_person() else query_text is None  # the contract's answer
        if is_empty and not (options["since"] or options["until"]):
            raise wrong_usage("no query was given", 'run: joelclaw recall "decision about retries"')
        result = recalls.ask(query_maker(options, collections, recalls)(query_text or ""))
    if options["by"]:
        _best_by_session(result, options["limit"])
    recalls.save(counting=True)
    is_saved = _save_last(result)
    if options["verbatim"]:
        return write_verbatim("".join(found["observation"] + "\n" for found in result["hits"]))
    if not result["hits"] and (lost := files.store_loss):
        result["warnings"] = [runnable(f"{lost.message}; {lost.fix}")]
    lines = (hit.line(found, result["preferredProject"] or "") for found in result["hits"])
    raw = "\n".join(lines) if options["raw"] else None
    code = int(options["exit_code"] and not result["hits"])
    return Answer(result, [_next_action(result, is_saved=is_saved)], raw, view="cli.views:hits", exit_code=code)


def _save_last(result: dict[str, Any]) -> bool:
    """Save which hits a recall found, so that `show 2` finds them; returns whether that was possible."""
    last: dict[str, Any] = {
        "at": clock.now_ms(), "folder": redact(files.current_folder())[0], "query": log.query_excerpt(result["query"]),
        "hits": [found["id"] for found in result["hits"]],
    }  # fmt: skip
    path = _last_recall_file()
    try:
        if os.path.islink(path):
            os.unlink(path)
        # in place: on ext4, a file that replaces another by its name is written to the disk at once
        with open(files.open_anew(path, os.O_WRONLY), "wb", buffering=0) as file:
            file.write(json_text.dumps(last).encode() + b"\n")  # behind it, another recall may leave a longer rest
            file.truncate()
        return True
    except OSError:  # the recall is answered all the same
        return False


def last_recall() -> dict[str, Any]:
    """The last recall: `at` (ms, 0 if there is none), `folder`, `query` and `hits` (ids)."""
    try:
        last = json_text.loads(files.read_file(_last_recall_file()).partition(b"\n")[0])
        return {name: last[name] for name in ("at", "folder", "query", "hits")}
    except (OSError, json_text.InvalidJSON, KeyError, TypeError):  # none yet, or damaged
        return {"at": 0, "folder": "", "query": "", "hits": []}


def _last_recall_file() -> str:
    return os.path.join(files.home(), "cache", "last-recalls.json")


def parse_collections(given: str | None, *, also: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The collections in a comma-separated list: those of documents, or of `also`; raises a Failure for others."""
    names = tuple(name.strip() for name in (given or "").split(",") if name.strip())
    for name in names:
        require_known("--collection", name, (*COLLECTIONS, *also))
    return names


def query_maker(
    options: Mapping[str, Any], collections: tuple[str, ...], recalls: RecordedRecall
) -> Callable[[str], Query]:
    """A function that makes the query for a text, with all that the options say."""
    only_project, session = options["project"] or "", options["session"] or ""
    if session:
        session = sessions.whole_id(recalls.db, session) or session
    prefer = "" if options["everywhere"] or only_project or session else recalls.preferred(files.current_folder())
    between = time_range(options["since"], options["until"])
    limit: int | None = options["limit"]
    if options["by"]:
        hits_per_session = 8  # to fetch, so that there are enough sessions
        limit = min((limit or config.load().get_int("recall.limit")) * hits_per_session, 100)

    def query(text: str) -> Query:
        return Query(
            text, limit=limit, min_score=options["min_score"], budget=options["budget"],
            category=options["category"] or "", collections=collections, tags=list(options["tag"]), session=session,
            project=only_project, prefer=prefer, include_hold=options["include_hold"],
            include_discard=options["include_discard"], by_name=True,
            asking_session=current_session() if places_query(text) else "",
            raw=bool(options["raw"]), whole=bool(options["verbatim"]), between=between,
        )  # fmt: skip

    return query


class RecordedRecall:
    """A connection for one or many recalls, and their events that are not stored yet."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.db = sqlite.open_or_empty()
        self._events: list[Event] = []
        self.recalled: list[str] = []
        """The ids of all hits."""

    def preferred(self, folder: str) -> str:
        """The project whose hits come first in a folder: its repository, or a known project of its name; else ""."""
        found = project.repository_of(folder)
        named = project.name_of(folder)
        if found or not named:
            return found
        known = (*documents.projects(self.db), *sessions.projects(self.db))
        return named if any(project.same(named, other) for other in known) else ""

    def ask(self, query: Query) -> dict[str, Any]:
        """Recall, and leave events; a failure leaves an event, too."""
        began = time.perf_counter()
        about: dict[str, Any] = {"query": log.query_excerpt(query.text), "budget": query.budget, "limit": query.limit}
        self._add("started", about, level="debug")
        try:
            result = engine.recall(self.db, query, now=clock.now_ms(), config=self._config)
        except sqlite.StoreError as error:
            failure = sqlite.as_failure(error)
            self._add("failed", {**about, "code": failure.code}, level="error", success=False, error=failure.message)
            self.save()
            raise failure from None
        self.recalled += [hit["id"] for hit in result["hits"]]
        took = round((time.perf_counter() - began) * 1000, 3)
        done = {
            **about, "budget": result["budget"]["applied"], "found": result["found"], "returned": result["count"],
            "dropped": result["droppedByTrustPass"], "backend": result["backend"],
            "rewrite": result["rewrite"]["strategy"], "semantic": result["semantic"], "steps": [["search", 0, took]],
        }  # fmt: skip
        if "fallback" in result:
            done["fallback"] = result["fallback"]["code"]
        self._add("completed", done, duration_ms=took)
        if len(self._events) >= 500:
            self.save()
        return result

    def save(self, *, counting: bool = False) -> None:
        """Put the events into the spool, or into the store if it is full; `counting` counts the hits as recalled."""
        if not log.spool(self._events):
            log.store_spooled(self._events)
        self._events.clear()
        if counting and self.recalled:
            try:
                sqlite.set_durability(self.db, False, busy_ms=log.BUSY_MS)
                with sqlite.transaction(self.db):
                    documents.count_recall(self.db, self.recalled, clock.now_ms())
            except Failure:  # the answer is there all the same
                pass

    def _add(self, action: str, about: dict[str, Any], **more: Any) -> None:
        name, now = f"memory.recall.{action}", clock.now_ms()
        self._events.append(log.new_event(name, component="recall-cli", metadata=about, now=now, **more))


def _batch(options: Mapping[str, Any], collections: tuple[str, ...]) -> int:
    """Answer a query per line, each with a compact envelope on a line. These recalls do not count as use.

    For a file, the number of the query is printed instead of its text: agents may be allowed to run `recall` without
    asking, and must not be able to read any file with it.
    """
    from cli.input import open_input
    from cli.output import envelope, write_json
    from core.words import clean

    recalls = RecordedRecall(config.load())
    query = query_maker(options, collections, recalls)
    file = options["batch"]
    with open_input(file, "queries, one a line") as handle:
        texts = (clean(line.decode("utf-8", "surrogateescape")).rstrip("\r\n") for line in handle)
        for number, text in enumerate(filter(str.strip, texts), 1):
            result: dict[str, Any] = {**recalls.ask(query(text))}
            if file != "-":
                result |= {"query": "", "rewrittenQuery": "", "number": number}
            if not write_json(json_text.dumps(envelope("joelclaw recall", result, []))):
                break
    recalls.save()
    return 0


def _best_by_session(result: Any, limit: int | None) -> None:
    """Reduce the hits to the best of each session, with its title, and the number of its other hits in `more`.

    What a subagent said counts for the session that began it.
    """
    most = limit or config.load().get_int("recall.limit")
    best: dict[str, Any] = {}
    db = sqlite.open_or_empty()
    for found in result["hits"]:
        if found["session"]:
            found["session"] = sessions.ancestors(db, found["session"], sessions.STARTED)[-1]
            found["title"] = sessions.title(db, found["session"])
        first = best.setdefault(found["session"] or found["id"], {**found, "more": -1})
        first["more"] += 1 + found.get("more", 0)
    result["hits"] = list(best.values())[:most]
    result["count"] = len(result["hits"])


def _next_action(result: dict[str, Any], *, is_saved: bool) -> NextAction:
    if result["hits"]:
        about = "the conversation around the best hit, with its calls"
        if is_saved and is_for_person():
            return step("joelclaw recall show 1", about)
        return template("joelclaw recall show <id>", about, "its id", result["hits"][0]["id"])
    if result["droppedByTrustPass"]:
        command = "joelclaw recall <query> --include-hold --include-discard"
        return template(command, "include the hits that were left out", "the same query", result["query"][:200])
    return step("joelclaw memory stats", "what there is to recall")
