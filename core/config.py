"""Settings: flags beat the environment, that beats `./.joelclaw/config.toml`, that beats `$JOELCLAW_HOME/config.toml`.

A TOML file costs 15 ms to parse (`tomllib` imports `re`), so what was read is kept as JSON in the home's `cache/`.
Until the user trusts the folder of a project's file, it may only say what is asked of its own memories (`NARROWING`); a
fault in it drops it as a whole. Settings marked `trusted` are read from the user's own file and environment only.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files
from core.errors import Failure

if TYPE_CHECKING:
    Value = str | int | float | bool

ENVIRONMENT = "the environment"
_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
"""How the environment, which holds only text, spells a boolean."""
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

    def wanted(self) -> str:
        """Its permitted values, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "text"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{kind} from {self.low:.12g} to {self.high:.12g}"


SETTINGS: dict[str, Setting] = {
    "store.busy_ms": Setting(10_000, "how long a write waits for another process, in ms", 1, 600_000),
    "store.backend": Setting("sqlite", "which store recall reads", choices=("sqlite", "typesense"), trusted=True),
    "store.urls": Setting("http://localhost:8108", "nodes, comma-separated (TYPESENSE_URL wins)", trusted=True),
    "store.key_command": Setting("", "a command that prints the API key (TYPESENSE_API_KEY wins)", trusted=True),
    "store.prefix": Setting("", "what the names of the cluster's collections begin with", trusted=True),
    "store.timeout_ms": Setting(1_500, "how long a recall waits for the cluster in total, in ms", 10, 600_000),
    "store.sync_seconds": Setting(30, "shortest time between two background syncs", 1, 86_400),
    "store.batch": Setting(500, "documents sent to the cluster in one request, at most 250", 1, 10_000),
    "recall.limit": Setting(5, "hits a recall returns unless --limit says otherwise", 1, 100),
    "recall.episode_decay": Setting(0.05, "largest share of an episode's score that age takes", 0, 0.5),
    "memory.max_chars": Setting(20_000, "longest text that `memory write` accepts, in characters", 100, 1_000_000),
    "checkpoint.warm_percent": Setting(40, "context usage at which recall begins (ADR-0203), in percent", 1, 100),
    "checkpoint.hot_percent": Setting(60, "context usage at which the task is written to memory (ADR-0203)", 1, 100),
    "inject.cooldown_seconds": Setting(60, "no second recovery note within this time (ADR-0203)", 0, 86_400),
    "inject.max_tokens": Setting(300, "longest recovery note, in estimated tokens (ADR-0203)", 60, 2_000),
    "inject.min_score": Setting(0.3, "lowest score of a memory that is injected", 0, 1),
    "inject.startup_min_score": Setting(0.1, "the same for a new session, whose query is broad", 0, 1),
    "inject.query": Setting(
        "recent decisions, active work, unresolved failures, and operational context",
        "what a new interactive session recalls (ADR-0204)",
    ),
    "inject.gateway_query": Setting(
        "gateway daemon telegram redis session routing compaction", "what a new gateway session recalls (ADR-0204)"
    ),
    "context.window": Setting(0, "window in tokens, if no client reports it; 0: by the model's name", 0, 100_000_000),
    "refresh.minutes": Setting(30, "a prompt this long after a refresh brings another (ADR-0204); 0 never", 0, 100_000),
    "refresh.idle_minutes": Setting(10, "a prompt after this much idle time brings a refresh; 0 never", 0, 100_000),
    "refresh.percent": Setting(50, "context usage at which to refresh, once for each compaction; 0 never", 0, 100),
    "refresh.named": Setting(True, "say where files and functions that a prompt names stand"),
    "workspace.folder": Setting("", "folder of the daily log (default: workspace in JOELCLAW_HOME)", trusted=True),
    "hook.deadline_ms": Setting(2_000, "after this time a hook gives an empty answer", 50, 60_000),
    "compaction.reserve_tokens": Setting(16_384, "tokens kept free for the answer (pi)", 0, 100_000_000),
    "compaction.keep_recent_tokens": Setting(20_000, "tokens of recent messages that are kept (pi)", 0, 100_000_000),
    "compaction.summary": Setting("client", "who writes the summary", choices=("client", "joelclaw"), trusted=True),
    "compaction.idle_trigger_minutes": Setting(0, "idle time before `idle run` compacts; off unless set", 1, 525_600),
    "compaction.idle_trigger_percent": Setting(0.7, "share of the window that must be in use", 0.1, 0.95),
    "compaction.notify_on_start": Setting(False, "tell the user when a compaction starts"),
    "compaction.notify_on_start_text": Setting("🧹 Context compacting, back in a moment…", "the text", trusted=True),
    "idle.command": Setting("", "compacts {session} {cwd} {transcript} {agent}; default: the client's", trusted=True),
    "idle.timeout_seconds": Setting(600, "after this time the compaction command is stopped", 1, 86_400),
    "notify.command": Setting("", "command that notifies the user, with {text} or the text on stdin", trusted=True),
    "model.command": Setting("", "a command that reads a prompt on stdin and writes text on stdout", trusted=True),
    "model.timeout_seconds": Setting(120, "after this time the model's command is stopped", 1, 3_600),
    "model.max_prompt_bytes": Setting(1_000_000, "longest prompt sent to the model's command", 1_000, 100_000_000),
    "model.max_output_bytes": Setting(200_000, "longest answer accepted from the model's command", 100, 100_000_000),
    "observe.max_tokens": Setting(60_000, "most estimated tokens of one `memory observe`", 6_000, 100_000_000),
    "observe.seconds": Setting(300, "longest run of one `memory observe`", 1, 86_400),
    "observe.auto": Setting(True, "with `model.command`, observe at compactions and session ends", trusted=True),
    "otel.busy_ms": Setting(400, "how long an event waits for another process's write, in ms", 1, 60_000),
    "otel.debug_limit": Setting(12, "debug events kept per minute, component and action", 0, 100_000),
    "otel.export": Setting("off", "auto: send events to the OTEL_* collector", choices=("off", "auto"), trusted=True),
    "otel.export_seconds": Setting(60, "shortest time between two such exports, in seconds", 1, 86_400),
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

    def apply(self, values: dict[str, Value], scopes: dict[str, str]) -> None:
        """Apply what a file says over what is known."""
        self._values.update(values)
        self.scopes = {**self.scopes, **scopes}

    def add_environment(self) -> None:
        """Apply the environment's variables over the files."""
        for name in (*FORMERLY, *SETTINGS):
            given = os.environ.get(variable(name))
            if given:
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
        from core.repository import settings_file

        settings_file.add_own(made, own)
    try:
        folder = cwd or os.getcwd()
        project = os.path.join(folder, ".joelclaw", "config.toml")
        if os.path.lexists(project) and os.path.realpath(project) != os.path.realpath(own):
            from core.repository import settings_file

            settings_file.add_project(made, project, folder)
    except (OSError, ValueError):  # the current folder was removed, or none can have this name
        pass
    made.add_environment()
    return made


def variable(name: str) -> str:
    """The environment variable that sets a setting."""
    return "JOELCLAW_" + name.upper().replace(".", "_")


def unknown_variables() -> tuple[tuple[str, str], ...]:
    """Environment variables that look like settings and are not."""
    sections = tuple({variable(name.partition(".")[0]) + "_" for name in SETTINGS})
    ours = [name for name in os.environ if name.startswith(sections) and name not in _OTHER_VARIABLES]
    known = {variable(name) for name in (*FORMERLY, *SETTINGS)} if ours else set()
    return tuple((ENVIRONMENT, name) for name in ours if name not in known)


def checked(name: str, setting: Setting, given: Value | None, where: str) -> Value:
    """A value as its setting's type; None stands for anything but a single value."""
    kind = type(setting.default)
    if kind is str:
        if isinstance(given, str) and (not setting.choices or given in setting.choices):
            return given
    elif kind is bool:
        truth = _WORDS.get(given.strip().lower()) if isinstance(given, str) and where == ENVIRONMENT else given
        if isinstance(truth, bool):
            return truth
    elif given is not None and not isinstance(given, bool):
        try:
            number = float(given)
            if setting.low <= number <= setting.high and (kind is float or number == int(number)):
                return int(number) if kind is int else number
        except (ValueError, OverflowError):
            pass
    found = "a list, a table, a date or a number that is too long" if given is None else repr(given)
    message = f"{where}: {name} is {found}, which is not {setting.wanted()}"
    raise Failure("CONFIG_INVALID", message, f"set {name} to {setting.wanted()}")
