"""The tables of the docs say what is declared: each parameter, setting and field, with its default and bounds."""

from __future__ import annotations

import contextlib
import io

import pytest
from cogapp import Cog  # type: ignore[import-untyped]
from conftest import ROOT


@pytest.mark.parametrize("page", ["cli", "configuration"])
def test_a_page_is_as_its_declarations_make_it(page: str) -> None:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        code = Cog().main(["cog", "--check", str(ROOT / "docs" / f"{page}.md")])
    assert code == 0, f"run `make docs`: {told.getvalue()}"
