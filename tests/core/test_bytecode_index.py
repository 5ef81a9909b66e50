"""The index of the packed bytecode: what is believed of it, what is imported by it, and what is written into it."""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from core import bytecode_pack
from core.bytecode_pack import MAGIC_NUMBER, Pack

CODE = compile("answer = 7", "words.py", "exec")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with a package and a module in it, and no bytecode."""
    root = tmp_path / "tree"
    (root / "core" / "inner").mkdir(parents=True)
    (root / "core" / "words.py").write_text("answer = 7")
    (root / "core" / "inner" / "__init__.py").write_text("")
    os.utime(root / "core" / "words.py", (1_700_000_000.9, 1_700_000_000.9))
    monkeypatch.setattr(bytecode_pack, "_ROOT", str(root))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return root


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return Pack(str(tmp_path / "the.pack"))


def entry(tree: Path, name: str = "core/words.py") -> tuple[int, int]:
    about = (tree / name).stat()
    return int(about.st_mtime), about.st_size


def write(pack: Pack, tree: Path, **more: Any) -> None:
    module = (False, *entry(tree), marshal.dumps(CODE))
    inner = (True, *entry(tree, "core/inner/__init__.py"), marshal.dumps(CODE))
    bytecode_pack._write(pack.path, {"core.words": module, "core.inner": inner, **more})


def test_what_is_written_is_found(pack: Pack, tree: Path) -> None:
    assert not pack.open(), "there is none"
    write(pack, tree)
    assert Path(pack.path).stat().st_mode & 0o700 == 0o600 and os.listdir(Path(pack.path).parent).count("the.pack") == 1
    assert pack.open()
    spec, inner = pack.find_spec("core.words"), pack.find_spec("core.inner")
    assert spec is not None and inner is not None and pack.find_spec("core.other") is None
    tag = sys.implementation.cache_tag
    assert (spec.origin, spec.cached, spec.has_location, spec.submodule_search_locations) == (
        f"{tree}/core/words.py", f"{tree}/core/__pycache__/words.{tag}.pyc", True, None,
    )  # fmt: skip
    assert (inner.origin, inner.submodule_search_locations) == (
        f"{tree}/core/inner/__init__.py",
        [f"{tree}/core/inner"],
    )
    assert pack.code("core.words") == pack.code("core.inner") == CODE
    assert spec.loader.get_code("core.words") == CODE  # type: ignore[union-attr]


def test_a_module_that_changed_is_not_found(pack: Pack, tree: Path) -> None:
    write(pack, tree)
    assert pack.open()
    source = tree / "core" / "words.py"
    before = source.stat().st_mtime
    os.utime(source, (before + 1, before + 1))
    assert pack.find_spec("core.words") is None
    os.utime(source, (before, before))
    assert pack.find_spec("core.words") is not None
    source.write_text("answer = 77")
    os.utime(source, (before, before))
    assert pack.find_spec("core.words") is None
    source.unlink()
    assert pack.find_spec("core.words") is None


def test_bytecode_that_is_none_is_forgotten_and_the_source_compiled(pack: Pack, tree: Path) -> None:
    write(pack, tree, **{"core.words": (False, *entry(tree), marshal.dumps("text"))})
    assert pack.open()
    spec = pack.find_spec("core.words")
    assert spec is not None
    code = spec.loader.get_code("core.words")  # type: ignore[union-attr]
    found: dict[str, Any] = {}
    exec(code, found)
    assert found["answer"] == 7 and pack.find_spec("core.words") is None


@pytest.mark.parametrize(
    ("head", "index", "whole"),
    [
        (MAGIC_NUMBER, {"a": 1}, True), (b"\0\0\r\n", {"a": 1}, False), (MAGIC_NUMBER, {}, False),
        (MAGIC_NUMBER, ["a"], False),
        (MAGIC_NUMBER, None, False),
    ],
)  # fmt: skip
def test_an_index_is_believed_where_it_is_one_of_this_python(pack: Pack, head: bytes, index: Any, whole: bool) -> None:
    listed = marshal.dumps(index) if index is not None else b""
    Path(pack.path).write_bytes(head + bytes(4) + len(listed).to_bytes(8, "little") + listed)
    assert pack.open() is whole


def test_an_index_is_less_than_a_mebibyte(pack: Pack) -> None:
    for length, whole in (((1 << 20) - 1, True), (1 << 20, False)):
        listed = marshal.dumps({"a": 1})
        Path(pack.path).write_bytes(MAGIC_NUMBER + bytes(4) + length.to_bytes(8, "little") + listed)
        assert Pack(pack.path).open() is whole, "what stands behind the value is not looked at"


def imported(tree: Path, name: str, monkeypatch: pytest.MonkeyPatch, stamp: tuple[int, int] | None = None) -> None:
    """As if Python had imported a module of ours and kept its bytecode."""
    source = f"{tree}/{name.replace('.', '/')}.py"
    data = b"".join(part.to_bytes(4, "little") for part in (0, *(stamp or entry(tree))))
    cached = Path(bytecode_pack._pyc(source))
    cached.parent.mkdir(exist_ok=True)
    cached.write_bytes(MAGIC_NUMBER + data + marshal.dumps(CODE))
    module = ModuleType(name)
    module.__file__, module.__spec__ = source, ModuleSpec(name, None)
    monkeypatch.setitem(sys.modules, name, module)


def test_what_the_pack_lacks_is_added_to_it(pack: Pack, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    already = frozenset(sys.modules) - {"core.words"}
    imported(tree, "core.words", monkeypatch)
    pack.complete(already | {"core.words"})
    assert not os.path.exists(pack.path)
    stale = (True, 1, 2, marshal.dumps(CODE))
    kept = (True, *entry(tree, "core/inner/__init__.py"), marshal.dumps(CODE))
    bytecode_pack._write(pack.path, {"core.inner": kept, "core.gone": stale})
    assert pack.open()
    monkeypatch.setitem(sys.modules, "elsewhere.words", ModuleType("elsewhere.words"))
    pack.complete(already)
    assert pack.open()
    assert sorted(pack._index) == ["core.inner", "core.words"]
    assert pack._index["core.words"][:3] == (False, *entry(tree)) and pack.code("core.words") == CODE
    before = os.stat(pack.path).st_ino
    spec = pack.find_spec("core.words")
    assert spec is not None
    sys.modules["core.words"].__spec__ = spec
    pack.complete(already)
    assert os.stat(pack.path).st_ino == before, "nothing is lacking"


@pytest.mark.parametrize("why", ["no bytecode is written", "its source changed", "another's source", "no file"])
def test_where_bytecode_cannot_be_believed_none_is_added(
    pack: Pack, tree: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    already = frozenset(sys.modules) - {"core.words"}
    time, size = entry(tree)
    imported(tree, "core.words", monkeypatch, (time, size + 1) if why == "its source changed" else None)
    if why == "no bytecode is written":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    elif why == "another's source":
        sys.modules["core.words"].__file__ = "/else/words.py"
    elif why == "no file":
        sys.modules["core.words"].__file__ = None
    pack.complete(already)
    assert not os.path.exists(pack.path)


def test_what_killed_writers_left_is_swept_by_its_age(pack: Pack, tree: Path) -> None:
    folder = Path(pack.path).parent
    left = {name: folder / name for name in ("the.pack.1.tmp", "the.pack.2.tmp", "the.pack.tmp2", "x.the.pack.1.tmp")}
    for path in left.values():
        path.touch()
        os.utime(path, (99, 99))
    os.utime(left["the.pack.2.tmp"], (100, 100))
    bytecode_pack._sweep(pack.path, 100)
    assert [name for name, path in left.items() if path.exists()] == list(left)[1:]


def test_where_the_pack_lies(tree: Path) -> None:
    tag = sys.implementation.cache_tag
    assert bytecode_pack.place() == f"{tree}/core/__pycache__/rooms.{tag}.pack"
