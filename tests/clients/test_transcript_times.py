"""A time in a transcript at its bounds: the first and the last of each field, the zones, the fractions."""

from __future__ import annotations

import pytest

from clients import moment

DAY = 86_400_000
LAST = 253_402_300_799_999


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01 00:00:00", 0),
        ("1970-01-01T00:00:00z", 0),
        ("1969-12-31T23:59:59.999Z", None),
        ("9999-12-31T23:59:59.999Z", LAST),
        ("9999-12-31T23:59:59.999-00:01", None),
        ("0000-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00Z", None),
        ("1970-01-01T23:59:59Z", DAY - 1000),
        ("1970-01-01T24:00:00Z", None),
        ("1970-01-01T00:60:00Z", None),
        ("1970-01-01T00:00:60Z", None),
        ("1970-00-01T00:00:00Z", None),
        ("1970-13-01T00:00:00Z", None),
        ("1970-12-31T00:00:00Z", 364 * DAY),
        ("1970-01-00T00:00:00Z", None),
        ("1970-01-31T00:00:00Z", 30 * DAY),
        ("1970-01-32T00:00:00Z", None),
        ("1970-02-28T00:00:00Z", 58 * DAY),
        ("1970-02-29T00:00:00Z", None),
        ("1970-03-01T00:00:00Z", 59 * DAY),
        ("1970-04-30T00:00:00Z", 119 * DAY),
        ("1970-04-31T00:00:00Z", None),
        ("1972-02-29T00:00:00Z", 789 * DAY),
        ("1972-02-30T00:00:00Z", None),
        ("1972-03-01T00:00:00Z", 790 * DAY),
        ("1972-01-32T00:00:00Z", None),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("2000-03-01T00:00:00Z", 951_868_800_000),
        ("2001-01-01T00:00:00Z", 978_307_200_000),
        ("2100-02-28T00:00:00Z", 4_107_456_000_000),
        ("2100-02-29T00:00:00Z", None),
        ("2101-01-01T00:00:00Z", 4_133_980_800_000),
        ("2401-01-01T00:00:00Z", 13_601_088_000_000),
    ],
)
def test_a_date_is_one_of_the_calendar(text: str, ms: int | None) -> None:
    assert moment.ms(text) == ms


@pytest.mark.parametrize(
    ("behind", "ms"),
    [
        ("", 0), (".1Z", 100), (".12Z", 120), (".123Z", 123), (".1239Z", 123), (",5Z", 500), (".0Z", 0), (".Z", None),
        (".", None), (".9", 900), (":5", None), ("-00:00", 0), ("-01:00", 3_600_000), ("-0130", 5_400_000),
        ("-23:59", 86_340_000), ("-24:00", None), ("-00:60", None), ("-05", 18_000_000), ("-5", None), ("-005", None),
        ("-", None), (" 01", None), ("+1:00", None), ("x", None), ("ZZ", None), (".5-01:00", 3_600_500),
        ("--1", None), ("-01:0000", None),
    ],
)  # fmt: skip
def test_behind_the_seconds_stand_a_fraction_and_a_zone(behind: str, ms: int | None) -> None:
    assert moment.ms("1970-01-01T00:00:00" + behind) == ms


def test_a_time_east_of_utc_is_earlier_there() -> None:
    assert moment.ms("1970-01-02T00:00:00+01:30") == DAY - 5_400_000


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-01T00:00:0", "1970/01-01T00:00:00", "1970-01/01T00:00:00", "1970-01-01_00:00:00",
        "1970-01-01T00.00:00", "1970-01-01T00:00.00", "+970-01-01T00:00:00", "1970-01-01T00:00:-1",
        "1970-01-01T00:-1:00", "19٧0-01-01T00:00:00", "",
    ],
)  # fmt: skip
def test_what_has_another_form_is_no_time(text: str) -> None:
    assert moment.ms(text) is None


@pytest.mark.parametrize(
    ("value", "ms"),
    [(0, 0), (0.9, 0), (1.9, 1), (-1, None), (LAST, LAST), (LAST + 1, None), (True, None), (False, None), (None, None),
     (float("nan"), None), ([], None)],
)  # fmt: skip
def test_a_number_is_of_milliseconds(value: object, ms: int | None) -> None:
    assert moment.ms(value) == ms
