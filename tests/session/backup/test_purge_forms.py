"""A purge finds a phrase in any form: decomposed, across lines, with other spaces."""

import json
import subprocess
from pathlib import Path
from unicodedata import normalize

import pytest
from claude_transcript import Transcript
from conftest import Run, put
from test_purge import hook, remaining

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
    for form, text in FORMS.items():
        mark, session = marked(form), f"s-{marked(form)[4:]}"
        transcript = Transcript(tmp_path / f"{session}.jsonl")
        transcript.user(f"deploy {mark}1 for {text} tonight")
        transcript.call("c1", "Bash", command=f"echo '{text}' {mark}2")
        transcript.outcome("c1", f"def {mark}3(): return '''{text}'''\nError: {mark}3 of {text}", failed=True)
        transcript.assistant(f"I decided to keep {mark}4 because {text} asked")
        run("memory", "archive", str(transcript.path))
        run("memory", "write", f"the contract {mark}5 is with {text} until May")
        hook(run, "UserPromptSubmit", session, prompt=f"mend {mark}6 of {text} at once")
        run("checkpoint", "save", "--session", session, "--percent", "75", "-m", f"mend {mark}7 of {text}")
        hook(run, "PreCompact", session, trigger="auto")
        run("otel", "emit", "a.b", "--metadata", json.dumps({"inner": json.dumps({"of": f"{mark}8 {text}"})}))
        (home / "cache").mkdir(exist_ok=True)
        (home / "cache" / f"{session}.json").write_text(json.dumps({"of": json.dumps([f"{mark}9 {text}"])}))
        log = home / "workspace" / "memory" / "2026-01-02.md"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.write(f"water the plants\n- asks {text} about\nand rest\n")
    run("otel", "list")
    return home


def test_every_form_of_a_name_goes(run: Run, filled: Path) -> None:
    marks = [marked(form) for form in FORMS]
    assert {mark for _, mark in remaining(filled, *marks)} == set(marks), "the text is there to begin with"
    result = run("memory", "forget", "--purge", "--match", NAME, "--yes").result
    assert remaining(filled, *marks) == []
    assert result["namedOnly"] == ["workspace/memory/2026-01-02.md"], "in a log, only single lines are deleted"
    assert [memory["observation"] for memory in run("memory", "list").result["memories"]] == [OTHERS]
    log = (filled / "workspace" / "memory" / "2026-01-02.md").read_text()
    assert log.replace("- asks Zoë\nQuagga\n  GmbH about\n", "") == len(FORMS) * "water the plants\nand rest\n"


@pytest.mark.parametrize("form", ["decomposed", "broken", "unbroken", "wide"])
def test_a_purge_accepts_any_form(run: Run, home: Path, form: str) -> None:
    run("memory", "write", OTHERS)
    run("memory", "write", f"the contract markplain is with {NAME} until May")
    run("memory", "forget", "--purge", "--match", FORMS[form], "--yes")
    assert remaining(home, "markplain") == []


def test_files_whose_name_holds_the_text_are_reported(run: Run, home: Path) -> None:
    put(home / "workspace" / "memory" / f"{NAME}.md", "water the plants\n")
    run("memory", "write", f"the contract is with {NAME} until May")
    result = run("memory", "forget", "--purge", "--match", NAME, "--yes").result
    assert f"workspace/memory/{NAME}.md" in result["namedOnly"]


def test_a_project_by_either_form_of_its_name(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / normalize("NFD", "zoë-quagga")
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    transcript = Transcript(tmp_path / "s-1.jsonl")
    transcript.write({**transcript.entry("user", "deploy the markplain tonight"), "cwd": str(folder)})
    run("memory", "archive", str(transcript.path))
    run("memory", "write", "the markplain is painted green", cwd=folder)
    result = run("memory", "forget", "--purge", "--project", "Zoë-Quagga", "--yes").result
    assert result["memories"] == 2
    assert remaining(home, "markplain", "quagga") == []
