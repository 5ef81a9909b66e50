"""Settings as they are laid over each other, and which of them a project may say before it is trusted."""

from __future__ import annotations

import pytest

from core import config
from core.config import Config


def test_what_is_said_counts_more_than_what_is_suggested() -> None:
    settings = Config({"recall.limit": 3})
    settings.foreign = frozenset({"recall.limit", "inject.query"})
    settings.suggest("recall.limit", 9)
    settings.suggest("inject.query", "q")
    settings.suggest("inject.max_tokens", None)
    assert (settings.get_int("recall.limit"), settings.get_str("inject.query")) == (3, "q")
    assert settings.get_int("inject.max_tokens") == 300
    settings.say("recall.limit", 7)
    assert settings.get_int("recall.limit") == 7 and settings.foreign == {"inject.query"}


def test_a_projects_settings_are_laid_over_the_users() -> None:
    settings = Config({"recall.limit": 3, "inject.min_score": 0.5}, {"src": "a", "docs": "b"})
    settings.lay({"recall.limit": 4}, {"src": "c", "lib": "d"})
    assert (settings.get_int("recall.limit"), settings.get_float("inject.min_score")) == (4, 0.5)
    assert settings.scopes == {"src": "c", "docs": "b", "lib": "d"}
    assert Config({}).scopes == {}


@pytest.mark.parametrize(
    ("name", "harmless"),
    [
        ("recall.limit", True), ("inject.query", True), ("refresh.minutes", True), ("checkpoint.warm_percent", True),
        ("context.window", True), ("compaction.reserve_tokens", True), ("compaction.keep_recent_tokens", True),
        ("compaction.notify_on_start", True), ("compaction.idle_trigger_percent", True),
        ("compaction.summary", False),
        ("compaction.idle_trigger_minutes", False), ("compaction.notify_on_start_text", False),
        ("hook.deadline_ms", False),
        ("store.busy_ms", False), ("model.command", False), ("otel.debug_limit", False), ("memory.max_chars", False),
    ],
)  # fmt: skip
def test_what_a_project_may_say_before_it_is_trusted(name: str, harmless: bool) -> None:
    assert config.is_harmless(name) is harmless


def test_variables_of_no_setting_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*config.os.environ]:
        if name.startswith("JOELCLAW_"):
            monkeypatch.delenv(name)
    assert config.variable("compaction.idle_trigger_minutes") == "JOELCLAW_COMPACTION_IDLE_TRIGGER_MINUTES"
    for name in ("RECALL_LIMIT", "IDLE_RUN", "HOME", "OTEL_RETENTION_DAYS", "RECALLED", "RECALL"):
        monkeypatch.setenv(f"JOELCLAW_{name}", "1")
    assert config.unknown_variables() == ()
    monkeypatch.setenv("JOELCLAW_RECALL_LIMITS", "1")
    monkeypatch.setenv("JOELCLAW_IDLE_RUNS", "1")
    found = sorted(config.unknown_variables())
    assert found == [("the environment", "JOELCLAW_IDLE_RUNS"), ("the environment", "JOELCLAW_RECALL_LIMITS")]


def test_names_of_no_setting_are_unknown() -> None:
    table = {
        "recall.limit": 1,
        "otel.retention_days": 2,
        "scopes.src": "x",
        "scopes": 1,
        "recall.limits": 1,
        "later": 1,
    }
    assert config._unknown(table, "p") == (("p", "scopes"), ("p", "recall.limits"), ("p", "later"))
    assert config._checked({"retention.events_days": 3, "otel.retention_days": 2}, "p", trusted=True) == {
        "retention.events_days": 3
    }
    assert config._checked({"otel.retention_days": 2}, "p", trusted=True) == {"retention.events_days": 2}
