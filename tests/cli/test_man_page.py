"""The man page: as the declarations are, without a fault that `groff` knows, and no text in it is a request."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import PATIENCE_S, ROOT
from hypothesis import given
from hypothesis import strategies as st

from cli.installation import man_page
from cli.reference import every

PAGE = ROOT / "completions" / man_page.FILE


def rendered(source: str) -> tuple[str, str]:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"],
        input=source, capture_output=True, text=True, timeout=PATIENCE_S, env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )  # fmt: skip
    return done.stdout, done.stderr


def test_it_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == man_page.page(), "run `make completions`"


def test_groff_finds_no_fault_and_shows_every_command() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed here")
    shown, complaints = rendered(man_page.page())
    assert complaints == ""
    words = " ".join(shown.split())
    for command in every():
        assert f"joelclaw {command.path}" in words, command.path


@given(st.text(alphabet=".'\\-ab \n\"", min_size=1, max_size=40))
def test_no_text_begins_a_request(text: str) -> None:
    line = man_page._text(text)
    assert "\n" not in line and not line.startswith((".", "'"))
    assert "\\" not in line.replace("\\e", "").replace("\\-", "").replace("\\&", "")
