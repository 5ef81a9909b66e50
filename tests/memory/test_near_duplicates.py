"""Near duplicates are merged, unless a small difference changes the meaning."""

import pytest
from conftest import NOW, Run, at_ms
from hypothesis import given
from hypothesis import strategies as st

from memory.write import Tokens, says_same

LONG = (
    "the gateway daemon restarts its telegram channel when the broker drops for longer than a short while in production"
)


def _same(first: str, second: str) -> bool:
    assert says_same(Tokens(first), Tokens(second)) == says_same(Tokens(second), Tokens(first)), "not symmetric"
    return says_same(Tokens(first), Tokens(second))


@pytest.mark.parametrize(("first", "second"), [
    ("Joel prefers pnpm over npm", "joel prefers  pnpm over npm."),
    (LONG, LONG.replace("the gateway", "gateway")),
    (LONG, LONG + " indeed"),
    (LONG, LONG.replace("restarts", "then also restarts")),
    (
        "The user prefers dark mode in all editors and terminals",
        "User prefers dark mode in all editors and terminals",
    ),
    ("用户喜欢深色模式", "用户喜欢深色模式。"),
    ("🔴 the tide gauge counts in feet", "The tide gauge counts in feet."),
])  # fmt: skip
def test_texts_that_say_the_same(first: str, second: str) -> None:
    assert _same(first, second)


@pytest.mark.parametrize(("old", "new"), [
    ("a short while", "30 seconds"), ("restarts", "never restarts"), ("in production", "unless in production"),
    ("telegram channel", "telegram channel 4"), ("the broker", "the RedisBroker broker"), ("telegram", "Slack"),
    ("in production", "in staging"), ("broker", "src/broker.ts"), ("the broker", "no broker"),
    ("daemon restarts", "restarts daemon"),
])  # fmt: skip
def test_a_small_difference_that_matters(old: str, new: str) -> None:
    assert old in LONG
    assert not _same(LONG, LONG.replace(old, new))


@pytest.mark.parametrize(("first", "second"), [
    ("port 8080", "port 8081"), ("v1.2.3", "v1.2.4"), ("ADR-0203", "ADR-0204"), ("src/a.ts", "src/a.tsx"),
    ("--verify", "--no-verify"), ("getUser", "getUsers"), ("FOO_BAR", "FOO_BAZ"), ("safe", "unsafe"),
    ("enable", "disable"), ("careful", "careless"), ("before", "after"), ("two", "three"), ("he", "she"),
    ("option B", "option C"), ("Caroline", "Melanie"), ("nicht", "schon"), ("done.", "done?"),
])  # fmt: skip
def test_texts_that_differ_in_a_meaningful_word(first: str, second: str) -> None:
    frame = (
        "when the worker of the billing service is started by hand then {} is what the log of that evening shows first"
    )
    text, changed = frame.format(first), frame.format(second)
    assert _same(text, text)
    assert not _same(text, changed)
    assert Tokens(text).key != Tokens(changed).key


@given(st.text(max_size=120))
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert _same(text, text) or not Tokens(text).key.strip()
    assert Tokens(text).key == Tokens(f"  {text}\n").key


def test_a_merge_keeps_the_older_text(run: Run) -> None:
    first = run("memory", "write", LONG, "-t", "a", "-s", "one", env=NOW).result
    newer = LONG.replace("restarts", "then also restarts")
    second = run("memory", "write", newer, "-t", "b", "-s", "two", env=at_ms(5000)).result
    assert second["merged"] is True
    assert second["id"] == second["mergedInto"] == first["id"]
    shown = run("memory", "show", first["id"]).result
    assert (shown["observation"], shown["mergedCount"], shown["tags"]) == (newer, 1, ["a", "b"])
    assert shown["history"] == [{"text": LONG, "at": "2026-09-21T14:13:20.000Z", "source": "one"}]
    assert run("memory", "stats").result["total"] == 1
    assert [hit["observation"] for hit in run("recall", "restarts telegram").result["hits"]] == [newer]


@pytest.mark.parametrize(("older", "newer", "survivor"), [
    ("--session s1 --project p1", "--session s2 --project p1", ("s2", "p1")),
    ("--session s1 --project p1", "--session s2", ("s2", "p1")),
    ("--session s1", "--session s2", ("s2", "")), ("--session s1 --project p1", "--global", ("", "")),
    ("--global", "--session s2 --project p2", ("", "")),
    ("--session s1 --project p1", "--session s1 --project p2", None),
])  # fmt: skip
def test_memories_of_different_projects_are_not_merged(
    run: Run, older: str, newer: str, survivor: tuple[str, str] | None
) -> None:
    first, second = (run("memory", "write", LONG, *words.split()).result for words in (older, newer))
    is_merged = second["id"] == first["id"]
    assert ((second["session"], second["project"]) if is_merged else None) == survivor
