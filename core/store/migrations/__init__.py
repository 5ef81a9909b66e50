"""The schema, as a list of steps, a numbered file of SQL each. A released one is never edited; a change adds one."""

import os

_FOLDER = os.path.dirname(__file__)


def _step(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return "\n" + file.read()


STEPS = tuple(_step(name) for name in sorted(os.listdir(_FOLDER)) if name.endswith(".sql"))

# Made with the sqlite-vec extension; its own step, since a machine without the extension still has the words.
SIGNATURES = """
CREATE VIRTUAL TABLE signature USING vec0 (collection INTEGER PARTITION KEY, bits BIT[256])
"""
