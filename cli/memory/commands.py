"""What `memory` takes."""

from cli.parameter import COLLECTIONS, HITS, HOURS, RAW, VERBATIM, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_FORMS = ("auto", "ours", "markdown")
_VERDICTS = ("allow", "hold", "discard")
_TYPES = ("observation", "lesson", "pattern", "failed_target")
_ID = P("id", (), "its id, or the beginning of it", required=True, metavar="ID")
_PROJECT = "its project (default: the session's, else the folder's)"
_ALL = "also tasks of sessions, and what was forgotten, superseded, held back or discarded"
_MEMORY, _TOLD = "cli.memory.view:memory", "cli.terminal:told"


def _keeping_files() -> tuple[str, ...]:
    """The clients that keep each session in a file; `memory write` loads none of them."""
    import clients

    return clients.keeping_files()


def _command(path: str, run: str, help: str, *parameters: P, view: str = _MEMORY) -> Command:
    return Command(path, f"cli.memory.{run}", help, *parameters, code="MEMORY_INVALID_ARGS", view=view)


COMMANDS: tuple[Command, ...] = (
    _command(
        "memory write",
        "write:run",
        "Store an observation; it is recallable when the command returns.",
        P("text", (), "the observation (- reads it from stdin)", metavar="TEXT"),
        P("category", ("--category", "-c"), "its category (default: by its words, else ops)", default=""),
        P("tags", ("--tags", "-t"), "comma-separated tags", default="", metavar="CSV"),
        P("source", ("--source", "-s"), "where it comes from", default="cli"),
        P("session", ("--session",), "the session it was learned in", default="", metavar="ID"),
        P("project", ("--project",), _PROJECT, default=""),
        P("type", ("--type",), "a tag, unless it is `observation`", default="observation", choices=_TYPES),
        P("for_all", ("--global",), "recall it in every project", kind="flag"),
    ),
    _command(
        "note",
        "write:note",
        "Keep a thought: an observation with the tag note.",
        P("text", (), "the thought (- reads it from stdin)", metavar="TEXT"),
        P("source", ("--source",), "where it comes from", default="cli"),
        P("tags", ("--tags",), "comma-separated tags", default="", metavar="CSV"),
    ),
    Command(
        "memory search",
        "cli.recall.search:search",
        "Recall with the automatic budget.",
        P("query", (), "what to look for", metavar="QUERY"),
        HITS,
        P("category", ("--category", "-c"), "only this category"),
        RAW,
        code="RECALL_INVALID_ARGS",
        view="cli.recall.view:hits",
    ),
    _command(
        "memory recent",
        "reports:recent",
        "The newest observations.",
        P("count", ("--count", "-n"), "how many", kind="whole", default=10, low=1, high=1000),
        HOURS,
        view="cli.memory.view:recent",
    ),
    Command(
        "memory scorecard",
        "cli.memory.reports:scorecard",
        "How well memory works: recalls with results, memories used.",
        HOURS,
        code="SCORECARD_FAILED",
    ),
    _command(
        "memory show",
        "curate:show",
        "All that is known about one memory.",
        P("id", (), "its id", required=True, metavar="ID"),
        VERBATIM,
    ),
    _command(
        "memory forget",
        "forget:run",
        "Hide memories from recall and export; --undo brings them back.",
        P("ids", (), "their ids; a tool call (call:...) is deleted permanently", many=True, metavar="ID"),
        P("session", ("--session",), "everything of a session; its tool calls are deleted permanently", metavar="ID"),
        P("undo", ("--undo",), "bring them back", kind="flag"),
        P("purge", ("--purge",), "delete permanently, from every file, also what quotes it", kind="flag"),
        P("project", ("--project",), "with --purge: everything of a project", default=""),
        P("before", ("--before",), "with --purge: everything older than this day", default="", metavar="DATE"),
        P("match", ("--match",), "with --purge: everything that contains this text", default="", metavar="TEXT"),
        P("yes", ("--yes", "-y"), "with --purge: do not ask for confirmation", kind="flag"),
        P("dry_run", ("--dry-run",), "with --purge: only say what would be deleted", kind="flag"),
        view=_TOLD,
    ),
    _command(
        "memory list",
        "curate:list_",
        "The observations that recall may return, newest first, with their ids.",
        P("tag", ("--tag", "-t"), "only those with all of these tags", many=True),
        P("category", ("--category", "-c"), "only this category (an alias such as `ops` will do)"),
        P("project", ("--project",), "only this project's (NAME or OWNER/NAME)"),
        P("verdict", ("--verdict",), "only with this verdict of the write gate", choices=_VERDICTS),
        P("source", ("--source", "-s"), "only from this source"),
        P("days", ("--days",), "only of the last N days", kind="number", low=0, high=36_500, metavar="N"),
        P("older_than", ("--older-than",), "only older ones, in days", kind="number", low=0, high=36_500, metavar="N"),
        P("all", ("--all",), _ALL, kind="flag"),
        P("limit", ("--limit", "-n"), "how many on a page", kind="whole", default=30, low=1, high=1000),
        P("page", ("--page",), "which page", kind="whole", default=1, low=1, high=1_000_000),
        view="cli.memory.view:listed",
    ),
    _command(
        "memory edit",
        "curate:edit",
        "Change a memory's text; the old text stays in its history.",
        _ID,
        P("text", (), "the new text (- reads it from stdin)", required=True, metavar="TEXT"),
    ),
    _command(
        "memory tag",
        "curate:tag",
        "Add tags to a memory, or remove some.",
        _ID,
        P("add", ("--add",), "comma-separated tags", default="", metavar="CSV"),
        P("remove", ("--remove",), "comma-separated tags", default="", metavar="CSV"),
    ),
    _command(
        "memory pin",
        "curate:pin",
        "Pin a memory: it neither loses score with age nor goes stale.",
        _ID,
        P("undo", ("--undo",), "let it age again", kind="flag"),
    ),
    _command(
        "memory supersede",
        "curate:supersede",
        "Replace a memory that no longer holds.",
        P("id", (), "the id of the memory that no longer holds", required=True, metavar="ID"),
        P("text", (), "what holds now (- reads it from stdin)", metavar="TEXT"),
        P("undo", ("--undo",), "bring the old one back and forget its replacement", kind="flag"),
    ),
    _command(
        "memory import",
        "bulk:import_",
        "Import JSON lines ({text, id?, collection?, category?, tags?, project?, ...}), or another tool's memories.",
        P("file", (), "the file (- is stdin)", required=True, metavar="FILE", file=True),
        P("format", ("--format",), "its format (auto: by its name)", default="auto", choices=_FORMS),
        P("preview", ("--preview",), "only say what would be stored", kind="flag"),
        view=_TOLD,
    ),
    _command(
        "memory export",
        "bulk:export",
        "Print every memory as JSON lines that `memory import` takes.",
        P("collection", ("--collection",), COLLECTIONS, metavar="NAMES"),
        view="",
    ),
    _command(
        "memory archive",
        "archive:run",
        "Archive session files. Without PATH, it says what there is, and asks.",
        P("paths", (), "transcripts, or folders of them", many=True, metavar="PATH", file=True),
        P("all", ("--all",), "all that the clients keep", kind="flag"),
        P("agent", ("--agent",), "who wrote them (default: by their lines)", choices=_keeping_files, metavar="NAME"),
        view="cli.memory.view:archived",
    ),
    _command(
        "memory observe",
        "observe:run",
        "Have a model record what is worth keeping from a session.",
        P("transcript", (), "a transcript, archived first", metavar="TRANSCRIPT", file=True),
        P("session", ("--session",), "a session whose turns are archived", default="", metavar="ID"),
        P("command", ("--command",), "runs the model (default: model.command)", default="", metavar="CMD"),
        P("detach", ("--detach",), "continue in the background", kind="flag"),
        view=_TOLD,
    ),
    _command(
        "memory stats",
        "reports:stats",
        "How many memories there are, by collection, verdict, category and source.",
        view=_TOLD,
    ),
)
