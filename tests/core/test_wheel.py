"""The wheel contains every module and the completions, and its README has no dead links."""

import os
import re
import subprocess
import sys
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from conftest import PATIENCE_S, ROOT

from core import VERSION

ROOMS = ("cli", "clients", "core", "memory", "otel", "recall", "session")
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode())


def test_the_wheel_contains_every_module_and_the_completions(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    modules = {str(path.relative_to(ROOT)) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert modules <= names
    shared = {name.partition(".data/data/share/")[2] for name in names} - {""}
    assert {Path(name).name for name in shared} == {"joelclaw", "_joelclaw", "joelclaw.fish"}
    assert any(name.endswith(("/scripts/./joelclaw", "/scripts/joelclaw")) for name in names)
    assert not [name for name in names if name.startswith(("tests", "bench", "demo", "docs"))]


def test_no_link_of_its_readme_needs_the_repository_around_it(metadata: Message) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = LINK.findall(metadata.get_payload())
    assert len(links) == len(LINK.findall(readme)) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    for relative in LINK.findall(readme):
        if not relative.startswith(("https://", "#")):
            assert (ROOT / relative.partition("#")[0]).exists(), relative


@pytest.mark.thorough
@pytest.mark.spawned
def test_it_runs_in_an_empty_environment(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=PATIENCE_S)
    python = tmp_path / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel.filename)]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600)
    if "Could not find a version" in done.stderr or "Temporary failure in name resolution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "JOELCLAW_HOME": str(tmp_path / "home")}
    command = str(tmp_path / "venv" / "bin" / "joelclaw")
    for words, expected in ((["--version"], VERSION), (["memory", "write", "we deploy on Fridays"], '"ok": true')):
        ran = subprocess.run([command, *words], env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
        assert ran.returncode == 0 and expected in ran.stdout, ran.stderr
