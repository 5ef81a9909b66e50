"""Where the bounds lie between a person's own words, what is automated, and a request (`session.notes.requests`)."""

from __future__ import annotations

from session.notes import requests


def test_a_topic_has_twenty_characters_and_two_words_that_mean_something() -> None:
    for said, topic in [
        ("importer tide table", False),  # 19 characters
        ("importers tide table", True),
        ("# > importer tide table", False),  # marks do not count
        ("潮汐表导入程序很", False),  # signs of other scripts count twice
        ("潮汐表导入程序很慢了", True),
        ("the importer and the it of the", False),  # one word that means something
        ("the importer and the tide of the", True),
        ("what happened today right now and now", False),
        ("x" * 4_000, False),
        (" " * 4_001 + "importers tide table", False),
    ]:
        assert requests.is_topic(said) is topic


def test_the_gateway_s_own_envelopes_are_no_topics() -> None:
    for opening in ("## 📋 Batch Digest", "## 🔔 Gateway", "> ⚡ **Automated gateway event**", "# Context Recovery",
                    "> ⚡ **Automated gateway digest summary**", "## Context Refresh", "## Gateway Recovery",
                    "HEARTBEAT", "Recovered. Standing by.", "Noted.", "Noted,", "Noted "):  # fmt: skip
        assert requests.is_topic(f"{opening} the importer of the tide tables lost a row") is False, opening
    assert requests.is_topic("Gateway: the importer of the tide tables lost a row") is True
    assert requests.is_topic("Notes on the importer of the tide tables") is True


def test_the_output_of_a_program_is_not_a_topic() -> None:
    for said, topic in [
        ("total 4 importer tide tables", False),
        ("total importer tide tables", True),
        ("commit 1a2b importer tide tables", False),
        ("commit the importer tide tables", True),
        ("info: importer of the tide tables", False),
        ("made: importer of the tide tables", True),
        ("make: importer of the tide tables", False),
        ("indexes of the importer of tide tables", True),
        ("2026-09 importer of the tide tables", False),
        ("2026 09 importer of the tide tables", True),
        ("2026-ab importer of the tide tables", True),
        ("202x-09 importer of the tide tables", True),
        # six characters in ten are letters or spaces
        ("importer tide tables abcd" + "1" * 16, True),
        ("importer tide tables abcd" + "1" * 17, False),
        ("importer tide tables é" + "1" * 14, True),
        ("importer tide tables é" + "1" * 15, False),
    ]:
        assert requests.is_topic(said) is topic


def test_a_short_request_is_an_imperative_or_a_question_with_a_word_of_its_own() -> None:
    for said, asks in [
        ("fix it", False),
        ("fix login", True),
        ("fix ci", True),
        ("fix x", False),
        ("could you please now fix login", True),
        ("please", False),
        ("why login", True),
        ("why", False),
        ("run login", False),
        ("the importer is slow", True),
        ("the is slow", False),
        ("importer is slow now", False),
        ("paginate the gauges", True),
        ("paginate gauges", True),
        ("paginate the", False),
        ("renamed the gauges", False),
        ("love the gauges", False),
        ("修复登录", True),
        ("请修复登", False),
        ("继续修复登录", True),
        ("fix the login " + "x" * 386, True),  # 400 characters
        ("fix login " + "1" * 391, False),
    ]:
        assert requests.is_request(said) is asks
