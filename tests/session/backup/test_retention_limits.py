"""When retention stops: within the limit, or where nothing more is gained; and when a file is written anew."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from core.store.upkeep import retention as rows
from core.store.upkeep import space
from session.backup import retention
from session.backup.retention import Retention

MB = 1_000_000
DAY = 86_400_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    monkeypatch.setattr(retention, "_PAUSE_S", 0)
    monkeypatch.setattr(retention.sqlite, "load_vectors", lambda _: False)


def made(*, background: bool = False, **settings: int) -> Retention:
    chosen = Config({f"retention.{name}": value for name, value in settings.items()})
    return Retention(None, chosen, background=background)  # type: ignore[arg-type]


def using(monkeypatch: pytest.MonkeyPatch, *sizes: int, free: int = 0) -> None:
    """What the store uses at each look; the last one then stays."""
    left = list(sizes)
    monkeypatch.setattr(space, "sizes", lambda _: (free + (left.pop(0) if len(left) > 1 else left[0]), free))


def test_what_is_older_than_so_many_days_goes_and_nothing_where_it_is_off() -> None:
    one = made(events_days=3, episodes_days=0)
    assert one._before("retention.events_days") == NOW_MS - 3 * DAY
    assert one._before("retention.episodes_days") == 0
    assert made(events_days=100_000)._before("retention.events_days") == 0


@pytest.mark.parametrize(
    ("sizes", "passes"),
    [
        ([10], 0), ([11, 10], 1), ([12, 11, 10], 2),
        ([12, 12, 12, 12], 3), ([12, 12, 12, 11, 11, 11, 11], 6), ([12, 13, 12, 12], 3), ([12, 12, 12, 10], 3),
    ],
)  # fmt: skip
def test_more_goes_until_the_store_is_within_its_limit_or_nothing_is_gained_thrice(
    sizes: list[int], passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    using(monkeypatch, *sizes)
    dropped: list[int] = []

    def drop() -> int:
        dropped.append(1)
        return 1

    made()._drop_until(10, drop)
    assert len(dropped) == passes


def test_nothing_more_goes_where_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, 12)
    asked: list[int] = []
    made()._drop_until(10, lambda: asked.append(1) or 0)  # type: ignore[func-returns-value]
    assert asked == [1]


@pytest.mark.parametrize(("used", "limit", "over"), [(9 * MB, 9, 0), (9 * MB + 1, 9, 1), (1, 0, 0), (8 * MB, 9, 0)])
def test_how_far_a_store_is_beyond_its_limit(used: int, limit: int, over: int, monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, used, free=77)
    one = made(store_mb=limit)
    assert one._over_limit() == over
    kinds: list[Any] = []
    monkeypatch.setattr(rows, "old_sessions", lambda _db, before: [("asked", before)])
    one._drop_until = lambda most, drop: kinds.append((most, drop.__name__))  # type: ignore[method-assign]
    one._prune_store()
    assert kinds == [(limit * MB, name) for name in ("_drop_debug", "_drop_oldest", "_drop_events") if over]
    assert one._sessions == ([("asked", NOW_MS + 1)] if over else [])


@pytest.mark.parametrize(
    ("first", "gone"), [(None, ["a", "b", "c"]), (1, []), (2, ["a"]), (3, ["a", "b"]), (9, ["a", "b", "c"])]
)
def test_what_sessions_did_that_were_over_before_the_first_turn_that_is_left_goes_with_the_turns(
    first: int | None, gone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[str] = []
    monkeypatch.setattr(rows, "drop_episodes", lambda *_, **__: 5)
    monkeypatch.setattr(rows, "first_episode", lambda *_: first)
    monkeypatch.setattr(rows, "drop_session", lambda _, session: dropped.append(session) or 2)
    one = made()
    one._sessions = [(1, "a"), (2, "b"), (3, "c")]
    assert one._drop_oldest() == 5 + len(gone)
    assert (dropped, one._episodes, one._calls) == (gone, 5, 2 * len(gone))
    assert [session for _, session in one._sessions] == [name for name in "abc" if name not in gone]


def test_twenty_sessions_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "drop_episodes", lambda *_, **__: 0)
    monkeypatch.setattr(rows, "first_episode", lambda *_: None)
    monkeypatch.setattr(rows, "drop_session", lambda *_: 1)
    one = made()
    one._sessions = [(at, str(at)) for at in range(21)]
    assert [one._drop_oldest(), one._drop_oldest(), one._drop_oldest()] == [20, 1, 0]


def test_events_go_before_the_hooks_and_texts_of_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(rows, "oldest_events", lambda _, debug: ["debug" if debug else "others"])
    monkeypatch.setattr(rows, "drop_events", lambda _, events: asked.append(events) or 3)
    monkeypatch.setattr(rows, "drop_history", lambda _, before: asked.append(before) or 4)
    monkeypatch.setattr(rows, "first_event", lambda _: 7)
    one = made()
    assert (one._drop_debug(), one._drop_events()) == (3, 7)
    monkeypatch.setattr(rows, "first_event", lambda _: None)
    one._drop_events()
    assert asked == [["debug"], ["others"], 7, ["others"], NOW_MS + 1]
    assert (one._by_size, one._history) == (9, 8)


@pytest.mark.parametrize(
    ("size", "free", "background", "given", "rewritten"),
    [
        (100 * MB, 4 * MB, False, 0, True),
        (100 * MB, 4 * MB - 1, False, 0, False),
        (100 * MB, 50 * MB, False, 1, False),
        (20 * MB, 4 * MB, True, 0, True),
        (20 * MB + 6, 4 * MB + 1, True, 0, False),
        (84 * MB, 20 * MB, True, 0, True),
        (84 * MB + 1, 20 * MB, True, 0, False),
        (500 * MB, 5 * MB, False, 0, True),
    ],
)
def test_a_file_is_written_anew_where_that_is_worth_it_and_quick_enough(
    size: int, free: int, background: bool, given: int, rewritten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []
    monkeypatch.setattr(space, "sizes", lambda _: (size, free))
    monkeypatch.setattr(space, "give_back", lambda _: given)
    monkeypatch.setattr(space, "rewrite", lambda _: done.append(True))
    made(background=background)._give_back()
    assert done == [True] * rewritten


@pytest.mark.parametrize(("episodes", "owed", "done"), [(499, False, ["back"]), (500, False, ["merge", "back"]),
                                                        (0, True, ["wipe"])])  # fmt: skip
def test_the_index_is_merged_after_many_turns_and_a_purge_is_finished(
    episodes: int, owed: bool, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    using(monkeypatch, 1, free=2)
    monkeypatch.setattr(retention.completeness, "compare", lambda _: None)
    monkeypatch.setattr(retention.files, "sweep_temporary", lambda: 0)
    monkeypatch.setattr(retention.documents, "merge_index", lambda _: said.append("merge"))
    monkeypatch.setattr(space, "is_owed", lambda _: owed)
    monkeypatch.setattr(space, "wipe", lambda _: said.append("wipe"))
    monkeypatch.setattr(rows, "count_events", lambda *_: (0, 9))
    names = ("events_days", "events_mb", "episodes_days", "store_mb")
    one = made(**dict.fromkeys(names, 0))
    one._episodes = episodes
    one._give_back = lambda: said.append("back")  # type: ignore[method-assign]
    assert one.run() == {
        "dryRun": False, "events": {"byAge": 0, "bySize": 0, "all": 9}, "episodes": episodes, "toolCalls": 0,
        "hooksAndInjections": 0, "bytes": {"before": 3, "after": 3, "free": 2, "overLimit": 0}, "purgeFinished": owed,
        "settings": {f"retention.{name}": 0 for name in names},
    }  # fmt: skip
    assert said == done
