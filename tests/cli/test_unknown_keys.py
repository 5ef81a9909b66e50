"""JSON on stdin: keys that have no effect are named, and a context usage must be a percentage."""

import json

import pytest
from conftest import Run


@pytest.mark.parametrize(("words", "fields", "ignored", "suggestion"), [
    (["checkpoint", "save", "--stdin"], {"session": "s", "mesages": [], "x": "/"}, ["mesages", "x"], "messages"),
    (["otel", "emit"], {"action": "a.b", "metdata": {}}, ["metdata"], "metadata"),
    (["otel", "emit", "a.b", "--stdin"], {"durationMS": 5}, ["durationMS"], "durationMs"),
    (["memory", "import", "-"], {"text": "the ledger closes today", "tag": "a", "zz": 1}, ["tag", "zz"], "tags"),
], ids=["save", "emit", "emit with action", "import"])  # fmt: skip
def test_unknown_keys_are_named(run: Run, words: list[str], fields: dict, ignored: list[str], suggestion: str) -> None:  # type: ignore[type-arg]
    outcome = run(*words, stdin=json.dumps(fields) + "\n")
    assert outcome.result["ignored"] == ignored
    assert f"{ignored[0]} (did you mean {suggestion}?)" in outcome.err and all(key in outcome.err for key in ignored)


def test_they_are_named_even_if_the_command_fails(run: Run) -> None:
    failed = run("checkpoint", "save", "--stdin", stdin='{"sesion": "s"}', ok=False)
    assert failed.json["error"]["message"] == "no session was given"
    assert "sesion (did you mean session?)" in failed.err


def test_known_keys_are_not_mentioned(run: Run) -> None:
    saved = run("checkpoint", "save", "--stdin", stdin='{"sessionId": "s", "contextPercent": 45, "messages": null}')
    assert saved.err == "" and "ignored" not in saved.result


@pytest.mark.parametrize("percent", ["150", "-5", "100.1", "1e9", "nan"])
@pytest.mark.parametrize("words", ["checkpoint save", "checkpoint flush", "inject refresh", "idle schedule"])
def test_a_usage_that_is_no_percentage_is_refused(run: Run, words: str, percent: str) -> None:
    for option in ([f"--percent={percent}"], ["--percent", percent]):
        failed = run(*words.split(), "--session", "s", *option, ok=False)
        assert (failed.code, failed.json["fix"]) == (2, "give --percent a number from 0 to 100")


@pytest.mark.parametrize("percent", [150, -5, "much", True])
def test_it_is_refused_on_stdin_too(run: Run, percent: object) -> None:
    stdin = json.dumps({"session": "s", "percent": percent})
    failed = run("checkpoint", "save", "--stdin", stdin=stdin, ok=False)
    assert (failed.code, failed.json["fix"]) == (2, "give --percent a number from 0 to 100")


@pytest.mark.parametrize("percent", ["0", "100", "99.9"])
def test_the_bounds_are_percentages(run: Run, percent: str) -> None:
    assert run("checkpoint", "save", "--session", "s", "--percent", percent).result["percent"] == float(percent)
