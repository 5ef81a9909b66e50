"""Which session is meant by a beginning, an error's near ones, the newest of a project; and what a list says of one."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from core.config import Config
from core.errors import Failure
from core.store import migrate
from session.session_report import listing

AT = 1_790_000_000_000
SETTINGS = Config({"checkpoint.warm_percent": 40.0, "checkpoint.hot_percent": 60.0})


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sessions that have a state, by their ids; the first did something last."""

    def are(*names: str, projects: dict[str, str] | None = None) -> None:
        rows = [{"sessionId": name, "updatedAt": AT - at} for at, name in enumerate(names)]
        monkeypatch.setattr(listing.checkpoint_run, "sessions", lambda: rows)
        monkeypatch.setattr(listing.state_file, "exists", lambda name: name in names)
        state = {name: {"cwd": f"/w/{(projects or {}).get(name, '')}" if projects else ""} for name in names}
        monkeypatch.setattr(listing.state_file, "peek", lambda name: state[name])
        monkeypatch.setattr(listing.projects, "name_of", lambda folder: folder.rpartition("/")[2])

    return are


def refused(given: str) -> Failure:
    with pytest.raises(Failure) as failed:
        listing.meant(migrate.in_memory(), given)
    return failed.value


def test_four_characters_will_do_where_no_other_session_begins_so(known: Any) -> None:
    known("abcd-1", "abxy-2", "abc")
    assert listing.meant(migrate.in_memory(), "abcd") == "abcd-1"
    assert listing.meant(migrate.in_memory(), "abc") == "abc", "the whole id of one"
    assert refused("abx").code == "SESSION_NOT_FOUND"


def test_an_unknown_one_names_the_one_with_the_nearest_id(known: Any) -> None:
    known("abcd-1x", "abcd-12", "zzzz")
    failed = refused("ABCD-13")
    assert failed.message == "nothing is known of a session 'ABCD-13'"
    assert failed.fix == "`joelclaw session show abcd-1x` shows the one with the nearest id"
    assert refused("yyyyyyyy").fix == "`joelclaw session list` names those that are known"
    known("it's one")
    assert shlex.quote("it's one") in refused("it's on3").fix


def test_the_newest_of_the_project_is_meant_else_the_newest(known: Any) -> None:
    known("a", "b", "c", projects={"a": "shop", "b": "gate", "c": "gate"})
    assert listing.newest(migrate.in_memory(), "gate") == ("b", "project")
    assert listing.newest(migrate.in_memory(), "other") == listing.newest(migrate.in_memory(), "") == ("a", "last")
    names = [f"s{number}" for number in range(202)]
    for place, found in ((199, ("s199", "project")), (200, ("s0", "last"))):
        known(*names, projects={names[place]: "gate"})
        assert listing.newest(migrate.in_memory(), "gate") == found
    known()
    with pytest.raises(Failure) as failed:
        listing.newest(migrate.in_memory(), "gate")
    assert failed.value.code == "SESSION_NOT_FOUND"
