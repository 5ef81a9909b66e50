"""A large output that is full of what looks like secrets is judged and kept at both ends, and nothing else of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Run

sys.path.append(str(ROOT / "bench"))

import hostile

PASSWORD = "Tr0ub4dor"


def within(text: str) -> str:
    """The text with a name at its head, in its middle and at its tail."""
    half = len(text) // 2
    middle = text[:half] + "\ndef middle_of_harbour():\n" + text[half:]
    head, tail = f"export PASSWORD={PASSWORD}0", f"PASSWORD={PASSWORD}1"
    return f"def head_of_harbour():\n{head}\n{middle}\n{tail}\ndef tail_of_harbour():\n"


@pytest.fixture
def stored(run: Run, home: Path, tmp_path: Path) -> Callable[..., str]:
    """All bytes of the home once a session with this output is archived."""

    def archive(output: str, prompt: str = "look at the log") -> str:
        transcript = tmp_path / "s.jsonl"
        transcript.write_text(hostile.transcript(output, prompt), encoding="utf-8")
        assert run("memory", "archive", str(transcript)).code == 0
        return "".join(path.read_bytes().decode("latin-1") for path in home.rglob("*") if path.is_file())

    return archive


def told(run: Run) -> list[str]:
    """What status and doctor say of outputs that were left out."""
    found: list[str] = []
    for command, field in (("status", "problems"), ("doctor", "findings")):
        result = run(command, "--json").json["result"]
        found += [one["message"] for one in result[field] if one["code"] == "OUTPUT_LEFT_OUT"]
    return found


@pytest.mark.parametrize("size", [20_000, 100_000])
@pytest.mark.parametrize("name", hostile.TEXTS)
def test_both_ends_are_kept_and_status_tells(
    run: Run, stored: Callable[..., str], tmp_path: Path, name: str, size: int
) -> None:
    kept = stored(within(hostile.text(name, size)))
    assert "head_of_harbour" in kept and "tail_of_harbour" in kept
    assert "middle_of_harbour" not in kept and PASSWORD not in kept
    first, second = told(run)
    assert str(tmp_path / "s.jsonl") in first and "secrets" in first and first == second


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_a_smaller_one_is_kept_whole(run: Run, stored: Callable[..., str], name: str) -> None:
    kept = stored(within(hostile.text(name, 14_000)))
    assert "middle_of_harbour" in kept and PASSWORD not in kept and not told(run)


def test_a_list_of_tests_is_kept_whole(run: Run, stored: Callable[..., str]) -> None:
    lines = "".join(f"tests/test_auth.py::test_the_token_of_tide_{n} PASSED  [ {n % 100:2}%]\n" for n in range(400))
    assert "middle_of_harbour" in stored(within(lines)) and not told(run)


def test_a_large_one_with_some_secrets_is_kept_whole(run: Run, stored: Callable[..., str]) -> None:
    lines = "".join(f"harbour.py:{n}: the token of the tide table {n} was read\n" for n in range(1_500))
    kept = stored(within(lines + f"password={PASSWORD}2\n" * 20 + lines))
    assert "middle_of_harbour" in kept and PASSWORD not in kept and not told(run)


def test_what_a_person_says_is_not_cut_by_it(run: Run, stored: Callable[..., str]) -> None:
    kept = stored("done", prompt=within(hostile.text("prose", 40_000)))
    assert "tail_of_harbour" in kept and PASSWORD not in kept and not told(run)


ROWS: dict[str, tuple[str, str]] = {
    "table": ("name,user,password\n", "{0},anna," + PASSWORD + "{1}\n"),
    "insert": ("INSERT INTO users (name, password) VALUES\n", "('{0}', '" + PASSWORD + "{1}'),\n"),
    "insert on a line": ("INSERT INTO users (name, password) VALUES ", "('{0}', '" + PASSWORD + "{1}'),"),
    "manifest": ("kind: Secret\nmetadata:\n  name: x\ndata:\n", "  {0}: " + PASSWORD + "{1}\n"),
    "manifest on a line": ('{{"kind":"Secret","data":{{', '"{0}":"' + PASSWORD + '{1}",'),
}


@pytest.mark.parametrize("size", [100_000, 600_000])
@pytest.mark.parametrize("kind", ROWS)
def test_no_value_is_kept_whose_name_stands_far_before(stored: Callable[..., str], kind: str, size: int) -> None:
    """Neither of one that is cut for its length alone."""
    head, row = ROWS[kind]
    rows = [row.format("anna", number) for number in range(size // len(row))]
    assert PASSWORD not in stored(head.format() + "".join(rows) + row.format("tail_of_harbour", 0))


@pytest.mark.parametrize("kind", ROWS)
def test_no_value_is_kept_of_a_message_whose_name_stands_far_before(stored: Callable[..., str], kind: str) -> None:
    head, row = ROWS[kind]
    rows = "".join(row.format("anna", number) for number in range(3_000))
    kept = stored("done", prompt=f"why is the gate shut?\n{head.format()}{rows}")
    assert "why is the gate shut?" in kept and PASSWORD not in kept
    again = stored("done", prompt=f"{head.format()}{rows}\nand why is the quay_of_harbour shut?")
    assert "quay_of_harbour" in again and PASSWORD not in again


@pytest.mark.parametrize("size", [100_000, 600_000])
def test_no_value_is_kept_whose_kind_stands_far_behind(stored: Callable[..., str], size: int) -> None:
    """As `kubectl get -o json` prints it."""
    values = ",".join(f'"anna{number}":"{PASSWORD}{number}"' for number in range(size // 25))
    assert PASSWORD not in stored('{"data":{"head_of_harbour":"' + PASSWORD + '",' + values + '},"kind":"Secret"}')
