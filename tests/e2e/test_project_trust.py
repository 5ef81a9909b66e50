"""pi loads the extension of a project only if the project is trusted, and `pi -p` does not say that it left it out."""

import json
from pathlib import Path

import pytest

from .session import Workplace

pytestmark = pytest.mark.agents("pi")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_an_extension_of_the_project(agent: str, tmp_path: Path, is_trusted: bool) -> None:
    place = Workplace(agent, tmp_path)
    place.install("--project")
    if is_trusted:
        decisions = place.home / ".pi" / "agent" / "trust.json"
        decisions.parent.mkdir(parents=True)
        decisions.write_text(json.dumps({str(place.project.resolve()): True}))
    place.play({"prompts": ["hello"], "default": {"text": "Hi."}}, mode="print")
    assert bool(list(place.memory.glob("sessions/*.json"))) is is_trusted
