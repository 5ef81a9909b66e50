"""`joelclaw recall` and `memory search`: ask, answer, and note in the events that it happened."""

from __future__ import annotations

import os
import sys

from cli.answer import Answer, done, refuse_terminal, write_json, write_verbatim
from cli.parameter import session_around
from core import TYPE_CHECKING, clock, config, files, json_text
from core.errors import usage
from core.store.rows import COLLECTIONS
from recall import hit
from recall.by_name.asked import places_asked
from recall.query import Query
from session.recorded_recall import RecordedRecall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from cli.answer import NextAction
    from core.records import RecallResult

CODE = "RECALL_INVALID_ARGS"


def run(options: dict[str, Any]) -> Answer | int:
    """`joelclaw recall QUERY` or `--batch FILE`."""
    names = collections(options["collection"] or "", CODE, also=("calls",))
    if options["everywhere"] and options["project"]:
        raise usage(CODE, "--project and --everywhere cannot be used together", "give one of them")
    if options["batch"] is not None:
        if options["query"] is not None or options["by"]:
            raise usage(CODE, "--batch takes no query and no --by", "give one of them")
        return _batch(options, names)
    if options["verbatim"]:
        refuse_terminal(CODE)
    if options["query"] is None:
        raise usage(CODE, "there is no query", 'give one: joelclaw recall "what was decided about retries"')
    recalls = RecordedRecall(config.load())
    asked = query_of(options, names, recalls)
    query = asked(options["query"])
    result = recalls.ask(query, now=clock.now_ms())
    if options["by"]:
        from cli.recall import narrowed

        narrowed.by_session(result, options["limit"])
    recalls.save(counting=True)
    if options["verbatim"]:
        return write_verbatim("".join(found["observation"] + "\n" for found in result["hits"]))
    raw = "\n".join(hit.line(found, query.prefer) for found in result["hits"]) if options["raw"] else None
    unknown: list[str] = []
    if not result["hits"]:
        from cli.recall import narrowed

        unknown = narrowed.unknown(result)
        if raw is not None:
            sys.stderr.writelines(f"{told}\n" for told in unknown)
    code = int(options["exit_code"] and not result["hits"])
    return Answer(result, _next_actions(result, unknown), raw, exit_code=code)


def search(options: dict[str, Any]) -> Answer | int:
    """`joelclaw memory search QUERY`: recall with the automatic budget."""
    from cli.recall.commands import COMMANDS

    return run({**COMMANDS[0].defaults(), **options, "budget": "auto"})


def _batch(options: dict[str, Any], names: tuple[str, ...]) -> int:
    """One query a line in, one compact envelope a line out. Recalls in bulk do not count as use.

    Of a file's query the number is printed: agents may run `recall` unasked, and are not to read any file with it.
    """
    from cli.bulk import is_endless
    from core.words import clean

    recalls = RecordedRecall(config.load())
    asked = query_of(options, names, recalls)
    where, fix = options["batch"], "name a file with one query a line, or -"
    try:
        handle = sys.stdin.buffer if where == "-" else open(where, "rb")
    except OSError as error:
        raise usage(CODE, f"{where}: {error.strerror}", fix) from None
    with handle:
        if where != "-" and is_endless(handle):
            raise usage(CODE, f"{where} is a device", fix)
        texts = (clean(line.decode("utf-8", "surrogateescape")).rstrip("\r\n") for line in handle)
        for number, text in enumerate(filter(str.strip, texts), 1):
            result: dict[str, Any] = {**recalls.ask(asked(text), now=clock.now_ms())}
            if where != "-":
                result |= {"query": "", "rewrittenQuery": "", "number": number}
            if not write_json(json_text.dumps(done("joelclaw recall", result))):
                break
    recalls.save()
    return 0


def collections(given: str, code: str, *, also: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The collections that a comma-separated list names: of documents, or one of `also`; or a Failure `code`."""
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        if name not in COLLECTIONS and name not in also:
            known = ", ".join((*COLLECTIONS, *also))
            raise usage(code, f"there is no collection {name!r}", f"use some of {known}")
    return names


def _next_actions(result: RecallResult, unknown: Sequence[str]) -> list[NextAction]:
    """What may be done next. `unknown`: which filters mean nothing that is kept."""
    hits, command, description = result["hits"], "joelclaw recall <query>", " ".join(unknown)
    if hits:
        command, description = "joelclaw recall show <id>", "the conversation around the best hit, with its calls"
    elif result["droppedByTrustPass"]:
        command += " --include-hold --include-discard"
        description = "include what the write gate held back or discarded"
    elif not unknown:
        if not os.path.exists(f"{files.home()}/store.db"):
            return [{"command": "joelclaw memory archive", "description": "archive the sessions your clients have"}]
        return [{"command": "joelclaw memory stats", "description": "what there is to recall"}]
    name, about, value = ("id", "its id", hits[0]["id"]) if hits else ("query", "the same query", result["query"][:200])
    params = {name: {"description": about, "value": value, "required": True}}
    return [{"command": command, "description": description, "params": params}]


def query_of(options: dict[str, Any], names: tuple[str, ...], recalls: RecordedRecall) -> Callable[[str], Query]:
    """Makes the query of a text with what the options say."""
    project, given = options["project"] or "", options["session"] or ""
    session = recalls.session_meant(given) or given
    prefer = "" if options["everywhere"] or project or session else recalls.preferred(files.current_folder())
    limit: int | None = options["limit"]
    between: tuple[int, ...] = ()
    if options["since"] or options["until"] or options["by"]:
        from cli.recall import narrowed

        between = narrowed.between(options["since"], options["until"], CODE)
        limit = narrowed.looked_at(limit) if options["by"] else limit

    def asked(text: str) -> Query:
        own = session_around() if places_asked(text) else ""  # it reads what each client calls its session
        return Query(
            text, limit=limit, min_score=options["min_score"], budget=options["budget"],
            category=options["category"] or "", collections=names, tags=options["tag"], session=session,
            project=project, prefer=prefer, include_hold=options["include_hold"],
            include_discard=options["include_discard"], by_name=True, own=own,
            raw=bool(options["raw"] or options["verbatim"]), between=between,
        )  # fmt: skip

    return asked
