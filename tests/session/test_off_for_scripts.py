"""`off` also means the commands that a script calls in place of hooks: they do nothing and say why."""

import json
from pathlib import Path

import pytest
from conftest import Run

TASK = "please change the whimbrel rule of the ledger"
SCOPES = (["--session", "s"], ["--project"], ["--everywhere"])
CALLS = {
    "save": ["checkpoint", "save", "--percent", "70", "--message", TASK, "--file", "whimbrel.py"],
    "save stdin": ["checkpoint", "save", "--stdin"],
    "flush": ["checkpoint", "flush", "--percent", "90"],
    "recovery": ["inject", "recovery"],
    "memory": ["inject", "memory", "--query", "whimbrel rule"],
    "refresh": ["inject", "refresh", "--percent", "70", "--message", TASK],
    "project": ["inject", "project", "--file", "whimbrel.py"],
}
STDIN = json.dumps({"percent": 70, "messages": [TASK], "files": ["whimbrel.py"]})


@pytest.mark.parametrize("scope", SCOPES, ids=" ".join)
@pytest.mark.parametrize("begun", [False, True], ids=["unknown session", "known session"])
def test_nothing_is_recalled_or_written(run: Run, home: Path, tmp_path: Path, scope: list[str], begun: bool) -> None:
    (tmp_path / ".git").mkdir()
    run("memory", "write", "the merlin rule: whimbrel.py closes the ledger on the fifth day of a month")
    if begun:
        run("checkpoint", "save", "--session", "s", "--message", "please look at the ledger of the yearly report")
    run("off", *scope)
    events = run("otel", "list").result["found"]
    for name, words in CALLS.items():
        result = run(*words, "--session", "s", stdin=STDIN if name == "save stdin" else None).result
        assert result["reason"] == "off", name
        assert not (result.get("recalled") or result.get("written") or result.get("injected")), name
    assert run("otel", "list").result["found"] == events
    holding = [path for path in home.rglob("*") if path.is_file() and b"whimbrel rule" in path.read_bytes()]
    assert not holding
    assert run("recall", "merlin", "rule").result["count"] == 1, "what a person asks for is still answered"


def test_a_script_whose_session_is_named_by_the_environment(run: Run) -> None:
    here = {"JOELCLAW_SESSION_ID": "s"}
    run("off", env=here)
    assert run(*CALLS["save"], env=here).result["reason"] == "off"
    run("on", env=here)
    saved = run(*CALLS["save"], env=here).result
    assert (saved["reason"], saved["written"]) == ("", True)
