"""The settings and their values. Hot path.

The environment overrides `$JOELCLAW_HOME/config.toml`, which overrides the defaults. Parsing TOML costs 15 ms
(`tomllib` imports `re`), so a parsed file is cached as JSON in the home's `cache/`.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text, project
from core.errors import Failure, either

if TYPE_CHECKING:
    from typing import Any

    Value = str | int | float | bool

ENVIRONMENT = "the environment"
HOOK_ENVIRONMENT = "the environment of a hook"


class Setting:
    """One setting: the type of `default` is the setting's type; `low` and `high` bound a number."""

    __slots__ = ("choices", "default", "high", "low", "user_only", "what")

    def __init__(
        self, default: Value, what: str, low: float = 0, high: float = 1e12, choices: tuple[str, ...] = (),
        *, user_only: bool = False,
    ) -> None:  # fmt: skip
        self.default = default
        self.what = what
        self.low = low
        self.high = high
        self.choices = choices
        self.user_only = user_only
        """It runs a program, sends, deletes, or says where texts are written: see `distrust_environment`."""

    def parse(self, name: str, given: Value | None, source: str) -> Value:
        """A given value as this setting's type; None means not a single value. Raises Failure: CONFIG_INVALID."""
        kind = type(self.default)
        if kind is str and isinstance(given, str) and (not self.choices or given in self.choices):
            return given
        if kind is bool and isinstance(given, str) and source == ENVIRONMENT:  # which holds only text
            words = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)
            given = words.get(given.strip().lower(), given)
        if kind is bool and isinstance(given, bool):
            return given
        if kind in (int, float) and given is not None and not isinstance(given, bool):
            try:
                number = float(given)
                if self.low <= number <= self.high and (kind is float or number == int(number)):
                    return int(number) if kind is int else number
            except (ValueError, OverflowError):
                pass
        bounds = f"from {self.low:.12g} to {self.high:.12g}"
        kinds = {str: "text", bool: "true or false", int: f"a whole number {bounds}", float: f"a number {bounds}"}
        allowed = either(self.choices) if self.choices else kinds[kind]
        message = f"{source}: {name} must be {allowed}, not {given!r}"
        raise Failure("CONFIG_INVALID", message, f"set {name} to {allowed}")


SETTINGS: dict[str, Setting] = {
    "store.busy_ms": Setting(10_000, "how long a write waits for another process, in ms", 1, 600_000),
    "store.backend": Setting("sqlite", "which store recall reads", choices=("sqlite", "typesense"), user_only=True),
    "store.urls": Setting("http://localhost:8108", "nodes, comma-separated (TYPESENSE_URL wins)", user_only=True),
    "store.key_command": Setting("", "prints the API key (TYPESENSE_API_KEY wins)", user_only=True),
    "store.prefix": Setting("", "what the collections' names begin with", user_only=True),
    "store.timeout_ms": Setting(1_500, "how long a recall waits for the cluster, in ms", 10, 600_000),
    "recall.limit": Setting(5, "hits of a recall without --limit", 1, 100),
    "recall.episode_decay": Setting(0.05, "most that age takes of an episode's score", 0, 0.5),
    "checkpoint.warm_percent": Setting(40, "context usage at which recall begins, in percent", 1, 100),
    "checkpoint.hot_percent": Setting(60, "context usage at which the task is written to memory", 1, 100),
    "inject.max_tokens": Setting(300, "longest recovery note, in estimated tokens", 60, 2_000),
    "inject.min_score": Setting(0.3, "lowest score of a memory that is injected", 0, 1),
    "inject.query": Setting(
        "recent decisions, active work, unresolved failures, and operational context",
        "what a new session recalls",
    ),
    "context.window": Setting(0, "window in tokens, if no client reports it; 0: by the model's name", 0, 100_000_000),
    "refresh.minutes": Setting(30, "minutes until a prompt brings another refresh; 0: no refreshes", 0, 100_000),
    "workspace.folder": Setting("", "folder of the daily log; default: workspace in the home", user_only=True),
    "hook.deadline_ms": Setting(2_000, "after this time a hook gives an empty answer", 50, 60_000),
    "compaction.reserve_tokens": Setting(16_384, "tokens to keep free, if no client says", 0, 100_000_000),
    "compaction.keep_recent_tokens": Setting(20_000, "recent tokens to keep, if no client says", 0, 100_000_000),
    "compaction.summary": Setting("client", "who writes the summary", choices=("client", "joelclaw")),
    "compaction.idle_trigger_minutes": Setting(0, "idle time before `idle run` compacts", 1, 525_600),
    "compaction.idle_trigger_percent": Setting(0.7, "share of the window that must be in use", 0.1, 0.95),
    "compaction.notify_on_start": Setting(False, "tell the user when a compaction starts"),
    "compaction.notify_on_start_text": Setting("🧹 Context compacting, back in a moment…", "the text"),
    "idle.command": Setting(
        "", "compacts {session} {key} {cwd} {transcript} {agent}; default: the client's", user_only=True
    ),
    "notify.command": Setting("", "notifies the user, with {text} or the text on stdin", user_only=True),
    "model.command": Setting("", "reads a prompt on stdin, writes text on stdout", user_only=True),
    "model.timeout_seconds": Setting(120, "longest run of it", 1, 3_600),
    "model.max_prompt_bytes": Setting(1_000_000, "longest prompt", 1_000, 100_000_000),
    "observe.auto": Setting(True, "with `model.command`, observe at compactions and session ends"),
    "otel.export": Setting("off", "send events to the OTEL_* collector", choices=("off", "auto"), user_only=True),
    "retention.events_days": Setting(90, "age at which events expire, in days; 0 never", 0, 36_500, user_only=True),
    "retention.sessions_days": Setting(90, "days until session states expire; 0 never", 0, 36_500, user_only=True),
}
OUTSIDE_VARIABLES = ("TYPESENSE_", "OTEL_")
"""Beginnings of the variables of the cluster and the collector, which the table `[environment]` may set."""
FORMER_NAMES = {
    "otel.retention_days": "retention.events_days",
    "compaction.idleTriggerMinutes": "compaction.idle_trigger_minutes",
    "compaction.idleTriggerPercent": "compaction.idle_trigger_percent",
    "compaction.notifyOnStart": "compaction.notify_on_start",
    "compaction.notifyOnStartText": "compaction.notify_on_start_text",
}
"""Former names that are still read → the current ones."""


def variable(name: str) -> str:
    """The environment variable that sets a setting."""
    return "JOELCLAW_" + name.upper().replace(".", "_")


class Config:
    """The values of all settings."""

    __slots__ = ("_values", "scopes", "unknown")

    def __init__(
        self,
        values: dict[str, Value],
        scopes: dict[str, str] | None = None,
        unknown: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._values = values
        self.scopes = scopes or {}
        """The table `[scopes]`: folder of a project → what to recall when an agent first edits a file in it."""
        self.unknown = unknown
        """Pairs of a file and a name in it that is not a setting."""

    def suggest(self, name: str, value: Value | None) -> None:
        """Set a value unless the user has set it; None changes nothing."""
        if value is not None:
            self._values.setdefault(name, value)

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


def load() -> Config:
    """The settings in force: the user's file, then the environment. Raises Failure: CONFIG_INVALID."""
    path = os.path.join(files.home(), "config.toml")
    table = _table(path) if os.path.lexists(path) else {}
    values: dict[str, Value] = {}
    scopes: dict[str, str] = {}
    unknown: list[tuple[str, str]] = []
    for name, value in table.items():
        section, _, key = name.partition(".")
        current = FORMER_NAMES.get(name, name)
        if current in SETTINGS:
            values[current] = SETTINGS[current].parse(name, value, path)
        elif section != "scopes" and not (section == "environment" and key.startswith(OUTSIDE_VARIABLES)):
            unknown.append((path, name))  # misspelled, removed, or of a later version
        elif not isinstance(value, str):
            raise Failure("CONFIG_INVALID", f"{path}: {name} must be text, not {value!r}", f"set {name} to text")
        elif section == "scopes":
            scopes[key] = value
        else:
            os.environ.setdefault(key, value)
    given_names = {*os.environ}  # asking `os.environ` for a variable that is not set takes 1 µs
    for name in (*FORMER_NAMES, *SETTINGS):
        if variable(name) in given_names and (given := os.environ[variable(name)]):
            current = FORMER_NAMES.get(name, name)
            values[current] = SETTINGS[current].parse(name, given, ENVIRONMENT)
    return Config(values, scopes, tuple(unknown))


def distrust_environment(folder: str) -> list[str]:
    """In a hook: remove the variables that only the user may set, who then sets them in the file; returns their names.

    A client may have loaded the `.env` of the project in `folder`. `JOELCLAW_HOME` must be absolute, and outside it.
    """
    names = [variable(name) for name, setting in SETTINGS.items() if setting.user_only]
    names += [variable(former) for former, name in FORMER_NAMES.items() if SETTINGS[name].user_only]
    ignored = [name for name in os.environ if name in names or name.startswith(OUTSIDE_VARIABLES)]
    home = os.environ.get("JOELCLAW_HOME", "")
    if home and (not os.path.isabs(home) or project.is_inside(home, folder)):
        ignored.append("JOELCLAW_HOME")
    for name in ignored:
        del os.environ[name]
    return ignored


def describe_unknown(place: str, name: str) -> str:
    """A line about a setting that is not used: `FILE: recall.min_scor: unknown`."""
    what = "unknown"
    if place == HOOK_ENVIRONMENT:
        what = "ignored for hooks; set it in config.toml (JOELCLAW_HOME: an absolute path outside the project)"
    return f"{place[-300:]}: {name[:80]}: {what}"


def _table(path: str) -> dict[str, Any]:
    """The file's settings by `section.key`, from the cache if the file has not changed since."""
    cache = os.path.join(files.home(), "cache", f"config-{files.safe_name(path)[-90:]}.json")
    key: list[Any] = []
    try:
        status = os.stat(path)
        key = [path, status.st_mtime_ns, status.st_size]
        cached = json_text.loads(files.read_file(cache))
        if cached["key"] == key and isinstance(cached["table"], dict):
            known: dict[str, Any] = cached["table"]
            return known
    except (OSError, json_text.InvalidJSON, KeyError, TypeError):
        pass
    import tomllib

    try:
        table = _flat(tomllib.loads(files.read_file(path).decode().removeprefix("\ufeff")))
    except (OSError, ValueError) as error:
        fix = f"move {path} away, or fix it"
        raise Failure("CONFIG_INVALID", f"{path}: {getattr(error, 'strerror', error)}", fix) from None
    try:
        files.write_whole(cache, json_text.dumps({"key": key, "table": table}).encode())
    except (OSError, TypeError, ValueError):
        pass  # without a cache, the next command parses the file again
    return table


def _flat(tables: dict[str, Any]) -> dict[str, Any]:
    """`section.key` → value; None for a list, a date, a nested table and an integer of more than 64 bits."""
    flat: dict[str, Any] = {}
    for section, inner in tables.items():
        for key, value in inner.items() if isinstance(inner, dict) else [("", inner)]:
            is_single = isinstance(value, (str, float)) or (isinstance(value, int) and value.bit_length() <= 64)
            flat[f"{section}.{key}" if key else section] = value if is_single else None
    return flat
