"""A value of a setting has the type of its default and lies within its bounds; else it is said what is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from core import config
from core.config import SETTINGS, Config, Setting
from core.config.value import ENVIRONMENT, checked
from core.errors import Failure

WHOLE = Setting(5, "", 1, 100)
NUMBER = Setting(0.5, "", -1, 1.5)
CHOICE = Setting("a", "", choices=("a", "b"))


def refused(setting: Setting, given: Any, where: str = "config.toml") -> str:
    with pytest.raises(Failure) as raised:
        checked("x.y", setting, given, where)
    wanted = raised.value.fix.removeprefix("set x.y to ")
    assert raised.value.code == "CONFIG_INVALID"
    assert raised.value.message == f"{where}: x.y is {given!r}, which is not {wanted}"
    return wanted


@pytest.mark.parametrize(
    ("setting", "given", "value"),
    [
        (WHOLE, 1, 1), (WHOLE, 100, 100), (WHOLE, 7.0, 7), (WHOLE, "7", 7), (NUMBER, -1, -1.0), (NUMBER, 1.5, 1.5),
        (NUMBER, "0.25", 0.25), (CHOICE, "b", "b"), (Setting("", ""), "anything", "anything"),
        (Setting(True, ""), False, False),
    ],
)  # fmt: skip
def test_what_fits(setting: Setting, given: Any, value: Any) -> None:
    found = checked("x.y", setting, given, "config.toml")
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("given", [0, 101, 7.5, True, "x", "", "nan"])
def test_what_is_no_whole_number_in_its_bounds(given: Any) -> None:
    assert refused(WHOLE, given) == "a whole number from 1 to 100"


@pytest.mark.parametrize("given", [-1.01, 1.51, False, "x"])
def test_what_is_no_number_in_its_bounds(given: Any) -> None:
    assert refused(NUMBER, given) == "a number from -1 to 1.5"


def test_texts_and_choices() -> None:
    assert refused(CHOICE, "c") == refused(CHOICE, 1) == "one of a, b"
    assert refused(Setting("", ""), 1) == "text"


def test_true_and_false_are_words_in_the_environment_alone() -> None:
    setting = Setting(False, "")
    for word, value in (("1", True), (" YES ", True), ("on", True), ("true", True), ("off", False), ("0", False)):
        assert checked("x.y", setting, word, ENVIRONMENT) is value
        assert refused(setting, word) == "true or false"
    assert refused(setting, "maybe", ENVIRONMENT) == "true or false"
    assert refused(setting, 1) == "true or false"


def test_a_project_may_not_set_what_only_the_user_may() -> None:
    own = next(name for name, setting in SETTINGS.items() if setting.trusted)
    table = {own: SETTINGS[own].default, "recall.limit": 7, "later.key": 1}
    assert config._checked(table, "p", trusted=False) == {"recall.limit": 7}
    assert config._checked(table, "p", trusted=True) == {own: SETTINGS[own].default, "recall.limit": 7}


def test_the_scopes_of_a_project() -> None:
    assert config._scopes({"scopes.b": "x", "scopes.a.b": "y", "recall.limit": 7}, "p") == {"b": "x", "a.b": "y"}
    with pytest.raises(Failure, match=r"p: scopes\.a is 7, which is not text"):
        config._scopes({"scopes.a": 7}, "p")


def test_a_setting_is_its_default_until_it_is_set() -> None:
    for name, setting in SETTINGS.items():
        kind = type(setting.default)
        empty, given = Config({}), Config({name: kind(1)})
        read = {str: "text", float: "number", int: "whole", bool: "flag"}[kind]
        assert getattr(empty, read)(name) == setting.default and getattr(given, read)(name) == kind(1)
        if kind in (int, float):
            assert setting.low < setting.high and isinstance(setting.default, (int, float))
            assert setting.default <= setting.high
