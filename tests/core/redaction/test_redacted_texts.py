"""By rule: texts of which what stands in each `«…»` vanishes and nothing else, and texts that stay as they are.

A row a line, with the escapes of JSON. `⟦⟧` stands for nothing, so that no row has the form of a provider's token.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from secret_samples import vanishes

from core.redaction import redact

HERE = Path(__file__).parent


def tables(name: str) -> dict[str, list[str]]:
    """The rows of each rule."""
    found = {}
    for block in ("\n" + (HERE / name).read_text(encoding="utf-8")).split("\n== ")[1:]:
        rule, *rows = block.strip("\n").split("\n")
        found[rule] = [
            json.loads('"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', row).replace("⟦⟧", "") + '"') for row in rows
        ]
    return found


VANISHING, STAYING = tables("vanishing.txt"), tables("staying.txt")


@pytest.mark.parametrize("rule", VANISHING)
def test_the_secret_vanishes_and_nothing_else(rule: str) -> None:
    for row in VANISHING[rule]:
        vanishes(row)


@pytest.mark.parametrize("rule", STAYING)
def test_what_only_looks_like_one_stays(rule: str) -> None:
    for row in STAYING[rule]:
        assert redact(row) == (row, ())
