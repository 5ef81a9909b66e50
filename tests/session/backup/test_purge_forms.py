"""A purge finds a phrase however it is written: decomposed, broken over lines, with other spaces (issue 23, item 8)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from unicodedata import normalize

import apsw
import pytest
from claude_transcript import Transcript
from conftest import Run
from test_purge import hook, left

NAME = "Zoë Quagga GmbH"
OTHERS = "Zoë paints the wall and asks about a quagga of some gmbh that runs by"
"""The words of the name apart, so that it is not found by a word that nothing else has."""
FORMS = {
    "decomposed": normalize("NFD", NAME),
    "broken": "Zoë\nQuagga\r\n  GmbH",
    "unbroken": "Zoë\u00a0Quagga\u202fGmbH",
    "two spaces": "Zoë  Quagga \t GmbH",
    "loud": normalize("NFD", "ZOË  QUAGGA\u00a0GMBH"),
    "wide": "Ｚｏë Ｑｕａｇｇａ　ＧｍｂＨ",
}


def marked(form: str) -> str:
    return "mark" + form.replace(" ", "")


@pytest.fixture
def filled(run: Run, home: Path, tmp_path: Path) -> Path:
    """Each form with a mark of its own, wherever the home keeps text."""
    run("memory", "write", OTHERS)
    for form, said in FORMS.items():
        mark, session = marked(form), f"s-{marked(form)[4:]}"
        made = Transcript(tmp_path / f"{session}.jsonl")
        made.user(f"deploy {mark}1 for {said} tonight")
        made.call("c1", "Bash", command=f"echo '{said}' {mark}2")
        made.outcome("c1", f"def {mark}3(): return '''{said}'''\nError: {mark}3 of {said}", failed=True)
        made.assistant(f"I decided to keep {mark}4 because {said} asked")
        run("memory", "archive", str(made.path))
        run("memory", "write", f"the contract {mark}5 is with {said} until May")
        hook(run, "UserPromptSubmit", session, prompt=f"mend {mark}6 of {said} at once")
        run("checkpoint", "save", "--session", session, "--percent", "75", "-m", f"mend {mark}7 of {said}")
        hook(run, "PreCompact", session, trigger="auto")
        run("otel", "emit", "a.b", "--metadata", json.dumps({"inner": json.dumps({"of": f"{mark}8 {said}"})}))
        (home / "cache").mkdir(exist_ok=True)
        (home / "cache" / f"{session}.json").write_text(json.dumps({"of": json.dumps([f"{mark}9 {said}"])}))
        log = home / "workspace" / "memory" / "2026-01-02.md"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.write(f"water the plants\n- asks {said} about\nand rest\n")
    run("otel", "list")
    return home


def test_every_form_of_a_name_goes(run: Run, filled: Path) -> None:
    marks = [marked(form) for form in FORMS]
    assert {mark for _, mark in left(filled, *marks)} == set(marks), "the text is there to begin with"
    result = run("memory", "forget", "--purge", "--match", NAME, "--yes").result
    assert left(filled, *marks) == []
    assert result["namedOnly"] == []
    assert [one["observation"] for one in run("memory", "list").result["memories"]] == [OTHERS]
    kept = (filled / "workspace" / "memory" / "2026-01-02.md").read_text()
    assert kept == len(FORMS) * "water the plants\nand rest\n"


@pytest.mark.parametrize("asked", ["decomposed", "broken", "unbroken", "wide"])
def test_whichever_form_is_asked_for(run: Run, home: Path, asked: str) -> None:
    run("memory", "write", OTHERS)
    run("memory", "write", f"the contract markplain is with {NAME} until May")
    run("memory", "forget", "--purge", "--match", FORMS[asked], "--yes")
    assert left(home, "markplain") == []


def test_what_still_stands_is_named(run: Run, home: Path, tmp_path: Path) -> None:
    """What a purge of a text leaves: names of folders and files, and what a session is called by."""
    folder = tmp_path / normalize("NFD", NAME)
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    made = Transcript(tmp_path / "s-1.jsonl")
    made.write({**made.entry("user", "deploy the gateway tonight"), "cwd": str(folder)})
    run("memory", "archive", str(made.path))
    note = home / "workspace" / "memory" / f"{NAME}.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("water the plants\n")
    run("memory", "write", f"the contract is with {NAME} until May")
    result = run("memory", "forget", "--purge", "--match", NAME, "--yes").result
    assert {"store.db: session.folder", f"workspace/memory/{NAME}.md"} <= set(result["namedOnly"]), result["namedOnly"]
    named = {one.removeprefix("store.db: ") for one in result["namedOnly"] if one.startswith("store.db: ")}
    db = apsw.Connection(str(home / "store.db"))
    for table in ("document", "session", "transcript", "tally", "event", "place_file"):
        for row in db.execute(f"SELECT * FROM {table}"):
            assert "Quagga" not in str(row) or any(one.startswith(f"{table}.") for one in named), row
    db.close()


def test_a_project_by_either_form_of_its_name(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / normalize("NFD", "zoë-quagga")
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    made = Transcript(tmp_path / "s-1.jsonl")
    made.write({**made.entry("user", "deploy the markplain tonight"), "cwd": str(folder)})
    run("memory", "archive", str(made.path))
    run("memory", "write", "the markplain is painted green", cwd=folder)
    result = run("memory", "forget", "--purge", "--project", "Zoë-Quagga", "--yes").result
    assert result["memories"] == 2
    assert left(home, "markplain", "quagga") == []
