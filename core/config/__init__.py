"""The settings there are, and those in force: flags beat the environment, that beats `./.joelclaw/config.toml`, that
beats `$JOELCLAW_HOME/config.toml`.

A TOML file costs 15 ms to parse (`tomllib` imports `re`), so what was read is kept as JSON in the home's `cache/`.
Until the user trusts the folder of a project's file, it may only say what is asked of its own memories (`NARROWING`); a
fault in it drops it as a whole. Settings marked `trusted` are read from the user's own file and environment only.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files

if TYPE_CHECKING:
    from typing import TypedDict

    Value = str | int | float | bool

    class Said(TypedDict):
        """What a file says: settings, `[scopes]`, unknown names each with the file; or why it is left out."""

        values: dict[str, Value]
        scopes: dict[str, str]
        unknown: tuple[tuple[str, str], ...]
        trusted: bool
        fault: str


ENVIRONMENT = "the environment"
_OTHER_VARIABLES = ("JOELCLAW_IDLE_RUN",)
"""Our variables that look like settings and are not."""


class Setting:
    """One setting: `default` gives its type; `low` and `high` bound a number."""

    __slots__ = ("choices", "default", "high", "low", "trusted", "what")

    def __init__(
        self,
        default: Value,
        what: str,
        low: float = 0,
        high: float = 1e12,
        choices: tuple[str, ...] = (),
        trusted: bool = False,
    ) -> None:
        self.default = default
        self.what = what
        self.low = low
        self.high = high
        self.choices = choices
        self.trusted = trusted


SETTINGS: dict[str, Setting] = {
    "store.busy_ms": Setting(10_000, "how long a write waits for another process, in ms", 1, 600_000),
    "store.backend": Setting("sqlite", "which store recall reads", choices=("sqlite", "typesense"), trusted=True),
    "store.urls": Setting("http://localhost:8108", "nodes, comma-separated (TYPESENSE_URL wins)", trusted=True),
    "store.key_command": Setting("", "prints the API key (TYPESENSE_API_KEY wins)", trusted=True),
    "store.prefix": Setting("", "what the collections' names begin with", trusted=True),
    "store.timeout_ms": Setting(1_500, "how long a recall waits for the cluster, in ms", 10, 600_000),
    "store.sync_seconds": Setting(30, "shortest time between two background syncs", 1, 86_400),
    "store.batch": Setting(500, "documents in one request, never over 250", 1, 10_000),
    "recall.limit": Setting(5, "hits of a recall without --limit", 1, 100),
    "recall.episode_decay": Setting(0.05, "most that age takes of an episode's score", 0, 0.5),
    "memory.max_chars": Setting(20_000, "longest text of `memory write`, in characters", 100, 1_000_000),
    "checkpoint.warm_percent": Setting(40, "context usage at which recall begins, in percent", 1, 100),
    "checkpoint.hot_percent": Setting(60, "context usage at which the task is written to memory", 1, 100),
    "inject.cooldown_seconds": Setting(60, "no second recovery note within this time", 0, 86_400),
    "inject.max_tokens": Setting(300, "longest recovery note, in estimated tokens", 60, 2_000),
    "inject.min_score": Setting(0.3, "lowest score of a memory that is injected", 0, 1),
    "inject.startup_min_score": Setting(0.1, "the same for a new session, whose query is broad", 0, 1),
    "inject.query": Setting(
        "recent decisions, active work, unresolved failures, and operational context",
        "what a new interactive session recalls",
    ),
    "inject.gateway_query": Setting(
        "gateway daemon telegram redis session routing compaction", "what a new gateway session recalls"
    ),
    "context.window": Setting(0, "window in tokens, if no client reports it; 0: by the model's name", 0, 100_000_000),
    "refresh.minutes": Setting(30, "minutes until a prompt brings another refresh; 0 never", 0, 100_000),
    "refresh.idle_minutes": Setting(10, "idle minutes after which a prompt brings one; 0 never", 0, 100_000),
    "refresh.percent": Setting(50, "context usage that brings one, once for each compaction; 0 never", 0, 100),
    "refresh.named": Setting(True, "say where the names in a prompt stand"),
    "workspace.folder": Setting("", "folder of the daily log; default: workspace in the home", trusted=True),
    "hook.deadline_ms": Setting(2_000, "after this time a hook gives an empty answer", 50, 60_000),
    "compaction.reserve_tokens": Setting(16_384, "tokens to keep free, if no client says", 0, 100_000_000),
    "compaction.keep_recent_tokens": Setting(20_000, "recent tokens to keep, if no client says", 0, 100_000_000),
    "compaction.summary": Setting("client", "who writes the summary", choices=("client", "joelclaw"), trusted=True),
    "compaction.idle_trigger_minutes": Setting(0, "idle time before `idle run` compacts", 1, 525_600),
    "compaction.idle_trigger_percent": Setting(0.7, "share of the window that must be in use", 0.1, 0.95),
    "compaction.notify_on_start": Setting(False, "tell the user when a compaction starts"),
    "compaction.notify_on_start_text": Setting("🧹 Context compacting, back in a moment…", "the text", trusted=True),
    "idle.command": Setting("", "compacts {session} {cwd} {transcript} {agent}; default: the client's", trusted=True),
    "idle.timeout_seconds": Setting(600, "longest run of it", 1, 86_400),
    "notify.command": Setting("", "notifies the user, with {text} or the text on stdin", trusted=True),
    "model.command": Setting("", "reads a prompt on stdin, writes text on stdout", trusted=True),
    "model.timeout_seconds": Setting(120, "longest run of it", 1, 3_600),
    "model.max_prompt_bytes": Setting(1_000_000, "longest prompt", 1_000, 100_000_000),
    "model.max_output_bytes": Setting(200_000, "longest answer", 100, 100_000_000),
    "observe.max_tokens": Setting(60_000, "most estimated tokens of one `memory observe`", 6_000, 100_000_000),
    "observe.seconds": Setting(300, "longest run of one `memory observe`", 1, 86_400),
    "observe.auto": Setting(True, "with `model.command`, observe at compactions and session ends", trusted=True),
    "otel.busy_ms": Setting(400, "how long an event waits for a write, in ms", 1, 60_000),
    "otel.debug_limit": Setting(12, "debug events kept per minute, component and action", 0, 100_000),
    "otel.export": Setting("off", "send events to the OTEL_* collector", choices=("off", "auto"), trusted=True),
    "otel.export_seconds": Setting(60, "shortest time between two exports", 1, 86_400),
    "retention.events_days": Setting(90, "age at which events expire, in days; 0 never", 0, 36_500, trusted=True),
    "retention.events_mb": Setting(200, "space for events, debug ones first; 0: no limit", 0, 1_000_000, trusted=True),
    "retention.episodes_days": Setting(0, "age at which episodes expire, in days; 0 never", 0, 36_500, trusted=True),
    "retention.store_mb": Setting(0, "size beyond which old turns expire; 0: no limit", 0, 1_000_000, trusted=True),
}
FORMERLY = {
    "otel.retention_days": "retention.events_days",
    "compaction.idleTriggerMinutes": "compaction.idle_trigger_minutes",
    "compaction.idleTriggerPercent": "compaction.idle_trigger_percent",
    "compaction.notifyOnStart": "compaction.notify_on_start",
    "compaction.notifyOnStartText": "compaction.notify_on_start_text",
}
"""Former spellings of settings, which are still read."""
NARROWING = ("inject.query", "inject.gateway_query")
"""What a project's file may set before its folder is trusted, besides `[scopes]`: queries over its own memories."""


def variable(name: str) -> str:
    """The environment variable that sets a setting."""
    return "JOELCLAW_" + name.upper().replace(".", "_")


class Config:
    """The settings in force."""

    __slots__ = ("_values", "dropped", "foreign", "foreign_scopes", "scopes", "unknown", "withheld")

    def __init__(self, values: dict[str, Value], scopes: dict[str, str] | None = None) -> None:
        self._values = values
        self.scopes = scopes or {}
        """The table `[scopes]`: folder of a project → what to recall when an agent first edits a file in it."""
        self.foreign: frozenset[str] = frozenset()
        """Settings from an untrusted project: what they select is limited to that project."""
        self.foreign_scopes: frozenset[str] = frozenset()
        """Scopes likewise."""
        self.withheld: tuple[str, ...] = ()
        """What else such a project's file sets, which would apply if its folder were trusted."""
        self.dropped: tuple[tuple[str, str], ...] = ()
        """The project's file and what is wrong with it, if it was left out."""
        self.unknown: tuple[tuple[str, str], ...] = ()
        """Files, and the unknown names in them."""

    def suggest(self, name: str, value: Value | None) -> None:
        """Set a value that nobody has set yet; None changes nothing."""
        if value is not None:
            self._values.setdefault(name, value)

    def apply(self, said: Said) -> None:
        """Apply what a file says over what is known; of an untrusted project's only what narrows its own queries."""
        values, scopes = said["values"], said["scopes"]
        if not said["trusted"]:
            self.withheld = tuple(name for name in values if name not in NARROWING)
            values = {name: value for name, value in values.items() if name in NARROWING}
            self.foreign, self.foreign_scopes = frozenset(values), frozenset(scopes)
        self._values.update(values)
        self.scopes = {**self.scopes, **scopes}
        self.unknown += said["unknown"]

    def add_environment(self) -> None:
        """Apply the environment's variables over the files."""
        for name in (*FORMERLY, *SETTINGS):
            given = os.environ.get(variable(name))
            if given:
                from core.config.value import checked

                known = FORMERLY.get(name, name)
                self._values[known] = checked(name, SETTINGS[known], given, ENVIRONMENT)
                self.foreign -= {known}

    def get_str(self, name: str) -> str:
        """A setting that is a string."""
        return str(self._values.get(name, SETTINGS[name].default))

    def get_float(self, name: str) -> float:
        """A setting that is a number."""
        return float(self._values.get(name, SETTINGS[name].default))

    def get_int(self, name: str) -> int:
        """A setting that is a whole number."""
        return int(self._values.get(name, SETTINGS[name].default))

    def get_bool(self, name: str) -> bool:
        """A setting that is true or false."""
        return bool(self._values.get(name, SETTINGS[name].default))


def load(cwd: str | None = None) -> Config:
    """The settings in force for a command started in `cwd`. Raises Failure: CONFIG_INVALID, for the user's own file."""
    own = os.path.join(files.home(), "config.toml")
    made = Config({})
    if os.path.exists(own):
        from core.config import file

        made.apply(file.own(own))
    try:
        folder = cwd or os.getcwd()
        project = os.path.join(folder, ".joelclaw", "config.toml")
        if os.path.lexists(project) and os.path.realpath(project) != os.path.realpath(own):
            from core.config import file

            said = file.project(project, folder)
            if said["fault"]:
                made.dropped = ((project, said["fault"]),)
            made.apply(said)
    except (OSError, ValueError):  # the current folder was removed, or none can have this name
        pass
    made.add_environment()
    return made


def unknown_variables() -> tuple[tuple[str, str], ...]:
    """Environment variables that look like settings and are not."""
    sections = tuple({variable(name.partition(".")[0]) + "_" for name in SETTINGS})
    ours = [name for name in os.environ if name.startswith(sections) and name not in _OTHER_VARIABLES]
    known = {variable(name) for name in (*FORMERLY, *SETTINGS)} if ours else set()
    return tuple((ENVIRONMENT, name) for name in ours if name not in known)
