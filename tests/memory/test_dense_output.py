"""A large output full of apparent secrets keeps both of its ends and nothing else."""

import base64
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import Run

PASSWORD = "Tr0ub4dor"
TEXTS: dict[str, Callable[[random.Random], str]] = {
    "base64": lambda draw: "- " + base64.b64encode(draw.randbytes(57)).decode() + "\n",
    "assignments": lambda draw: f"pw={draw.randint(0, 9)} ",
    "coloured": lambda draw: f"\x1b[31mtoken\x1b[0m=\x1b[1m{draw.randbytes(9).hex()}\x1b[0m ",
    "JSON": lambda draw: f'{{"id":{draw.randint(1, 99)},"password":"{draw.randbytes(9).hex()}"}},',
    "URLs": lambda draw: f"https://u:{draw.randbytes(9).hex()}@h/?sig={draw.randbytes(9).hex()}\n",
}


def text(name: str, size: int) -> str:
    """`size` characters full of possible secrets."""
    draw, parts, length = random.Random(name), [], 0
    while length < size:
        parts.append(TEXTS[name](draw))
        length += len(parts[-1])
    return "".join(parts)[:size]


def within(output: str) -> str:
    """The text with a name at its head, in its middle and at its tail."""
    half = len(output) // 2
    middle = output[:half] + "\ndef middle_of_harbour():\n" + output[half:]
    head, tail = f"export PASSWORD={PASSWORD}0", f"PASSWORD={PASSWORD}1"
    return f"def head_of_harbour():\n{head}\n{middle}\n{tail}\ndef tail_of_harbour():\n"


@pytest.fixture
def stored(run: Run, home: Path, tmp_path: Path) -> Callable[..., str]:
    """All bytes of the home once a session with this output is archived."""

    def archive(output: str, prompt: str = "look at the log") -> str:
        transcript = Transcript(tmp_path / "s.jsonl")
        transcript.user(prompt)
        transcript.used("t1", "Bash", output, command="cat build.log")
        transcript.assistant("The parser of the tide tables breaks on tabs.")
        assert run("memory", "archive", str(transcript.path)).code == 0
        return "".join(path.read_bytes().decode("latin-1") for path in home.rglob("*") if path.is_file())

    return archive


@pytest.mark.parametrize("size", [20_000, 100_000])
@pytest.mark.parametrize("name", TEXTS)
def test_only_both_ends_are_kept(stored: Callable[..., str], name: str, size: int) -> None:
    output = stored(within(text(name, size)))
    assert "head_of_harbour" in output and "tail_of_harbour" in output
    assert "middle_of_harbour" not in output and PASSWORD not in output


@pytest.mark.parametrize("name", TEXTS)
def test_a_smaller_one_is_kept_whole(stored: Callable[..., str], name: str) -> None:
    output = stored(within(text(name, 14_000)))
    assert "middle_of_harbour" in output and PASSWORD not in output


def test_a_large_one_with_some_secrets_is_kept_whole(stored: Callable[..., str]) -> None:
    lines = "".join(f"harbour.py:{n}: the token of the tide table {n} was read\n" for n in range(1_500))
    output = stored(within(lines + f"password={PASSWORD}2\n" * 20 + lines))
    assert "middle_of_harbour" in output and PASSWORD not in output


ROWS: dict[str, tuple[str, str]] = {
    "table": ("name,user,password\n", "{0},anna," + PASSWORD + "{1}\n"),
    "manifest": ("kind: Secret\nmetadata:\n  name: x\ndata:\n", "  {0}: " + PASSWORD + "{1}\n"),
    "manifest on a line": ('{{"kind":"Secret","data":{{', '"{0}":"' + PASSWORD + '{1}",'),
}


@pytest.mark.parametrize("size", [100_000, 600_000])
@pytest.mark.parametrize("kind", ROWS)
def test_a_value_far_behind_its_name_is_redacted(stored: Callable[..., str], kind: str, size: int) -> None:
    """Neither of one that is cut for its length alone."""
    head, row = ROWS[kind]
    rows = [row.format("anna", number) for number in range(size // len(row))]
    assert PASSWORD not in stored(head.format() + "".join(rows) + row.format("tail_of_harbour", 0))
