"""What is told of a model command that failed: how it ended, and the last line of its stderr, made harmless."""

from __future__ import annotations

import os

import pytest

from core.config import Config
from core.errors import Failure
from core.process import model_command
from core.process.model_command import _Exchange, _failed


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("exit 3", "llm ended with exit code 3"), ("signal 9", "llm was ended by signal 9"),
        ("stopped", "llm was stopped"),
    ],
)  # fmt: skip
def test_how_it_ended(ended: str, told: str) -> None:
    failure = _failed("llm", ended, b"")
    assert (failure.code, failure.message) == ("MODEL_FAILED", told)
    assert failure.fix == "run it by hand with a prompt on stdin"
    assert _failed("llm", ended, b"first\nlast line\n \n").message == f"{told}: last line"


def test_a_program_that_cannot_be_run() -> None:
    failure = _failed("llm", "errno 13", b"ignored")
    assert (failure.code, failure.message) == ("MODEL_NOT_FOUND", "llm cannot be run: Permission denied")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a\tb   c", "a b c"), ("\x1b[31mred", "[31mred"), ("x" * 300, "x" * 300), ("x" * 301, "x" * 299 + "…"),
        ("password=hunter2x", "password=[redacted:password]"), ("a\u202eb", "a b"),
    ],
)  # fmt: skip
def test_a_foreign_line_is_made_harmless(line: str, shown: str) -> None:
    assert model_command._one_line(line) == shown


def test_of_stderr_the_last_8_kib_are_kept() -> None:
    exchange = _Exchange([], b"", 1.0, 1)
    reading, writing = os.pipe()
    for part in (b"a" * 8_000, b"b" * 192, b"c"):
        os.write(writing, part)
        assert exchange._read_error(reading) is True
        assert len(exchange._stderr) == min(8_192, 8_000 + 192 * (part != b"a" * 8_000) + (part == b"c"))
    assert exchange._stderr == b"a" * 7_999 + b"b" * 192 + b"c"
    os.close(writing)
    assert exchange._read_error(reading) is False
    os.close(reading)


def test_an_answer_has_no_more_bytes_than_allowed() -> None:
    exchange = _Exchange(["llm"], b"", 1.0, 4)
    reading, writing = os.pipe()
    os.write(writing, b"1234")
    assert exchange._read(reading) is True
    os.write(writing, b"5")
    with pytest.raises(Failure, match="llm answered more than 4 bytes") as raised:
        exchange._read(reading)
    assert raised.value.code == "MODEL_TOO_LONG"
    os.close(writing)
    os.close(reading)


def test_a_prompt_is_handed_over_in_parts() -> None:
    exchange = _Exchange([], b"x" * 65_537, 1.0, 1)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    handed = 0
    while exchange._write(writing):
        handed += len(os.read(reading, 65_536))
    handed += len(os.read(reading, 65_536))
    assert handed == 65_537 and len(exchange._prompt) == 0
    exchange = _Exchange([], b"x" * 200_000, 1.0, 1)
    for _ in range(3):
        assert exchange._write(writing) is True, "a pipe that is full is waited for"
    os.close(reading)
    assert exchange._write(writing) is False, "a command need not read its prompt"
    os.close(writing)


@pytest.mark.parametrize(("sent", "ended"), [(b"exit 0", "exit 0"), (b"", "stopped"), (b"signal 9", "signal 9")])
def test_the_word_of_the_keeper(sent: bytes, ended: str) -> None:
    exchange = _Exchange([], b"", 1.0, 1)
    reading, writing = os.pipe()
    os.write(writing, sent)
    os.close(writing)
    assert exchange._read_end(reading) is False and exchange._ended == ended
    os.close(reading)


@pytest.mark.parametrize(
    ("command", "code"),
    [("", "MODEL_NOT_CONFIGURED"), (" ", "MODEL_NOT_CONFIGURED"), ("sh 'x", "MODEL_NOT_CONFIGURED"),
     ("no-such-program", "MODEL_NOT_FOUND"),
     ("sh a\0b", "MODEL_NOT_FOUND")],
)  # fmt: skip
def test_a_command_line_that_names_no_program(monkeypatch: pytest.MonkeyPatch, command: str, code: str) -> None:
    monkeypatch.delenv(model_command.IN_MODEL, raising=False)
    with pytest.raises(Failure) as raised:
        model_command._words(command)
    assert raised.value.code == code and raised.value.fix


def test_the_time_for_an_answer_is_the_shorter_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.delenv(model_command.IN_MODEL, raising=False)
    monkeypatch.setattr(model_command, "ask", lambda prompt, **more: asked.append({"prompt": prompt, **more}) or "said")  # type: ignore[func-returns-value]
    settings = Config(
        {"model.command": " llm ", "model.timeout_seconds": 7, "model.max_prompt_bytes": 8, "model.max_output_bytes": 9}
    )
    model = model_command.from_config(settings)
    assert model is not None and model("p") == model("p", seconds=6) == model("p", seconds=8) == "said"
    about = {"prompt": "p", "command": "llm", "max_prompt": 8, "max_output": 9}
    assert asked == [{**about, "timeout": seconds} for seconds in (7.0, 6, 7.0)]
    other = model_command.from_config(settings, " other ")
    assert other is not None and other.command == "other"
    assert model_command.from_config(Config({}), "  ") is None
    monkeypatch.setenv(model_command.IN_MODEL, "1")
    assert model_command.from_config(Config({})) is None
    with pytest.raises(Failure, match="asked for a model"):
        model_command.from_config(settings)


def test_a_prompt_is_given_up_to_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(model_command.IN_MODEL, raising=False)
    monkeypatch.setattr(_Exchange, "run", lambda self: (b"\xef\xbb\xbf a\0b \n", b"", "exit 0"))
    for prompt, fits in (("é" * 4, True), ("é" * 4 + "x", False)):
        if fits:
            assert model_command.ask(prompt, command="sh", timeout=1, max_prompt=8, max_output=1) == "a\ufffdb"
        else:
            with pytest.raises(Failure, match="the prompt has 9 bytes; the model's command is given 8 at most"):
                model_command.ask(prompt, command="sh", timeout=1, max_prompt=8, max_output=1)
