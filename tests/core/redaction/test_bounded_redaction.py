"""Of a text that is full of secrets the beginning is judged, and the rest hidden. Other texts are judged whole."""

from __future__ import annotations

import random
import re
import sys

import pytest
from conftest import ROOT

from core.redaction import redact
from core.redaction.bounded import BOUNDS, judged

sys.path.append(str(ROOT / "bench"))

import hostile
import redaction

REST = "[redacted:unjudged]"
FULL = hostile.text("one line of token=", 60_000).replace("&", "\n")
WRITTEN = {
    "tests that pass": "=== RUN   TestTideTable\n--- PASS: TestTideTable (0.01s)\n",
    "code about tokens": "func (a *Auth) Renew(ctx context.Context, token string) (*Token, error) {\n",
    "elements with keys": '  <li key={tide.name} className="tide">{tide.name}</li>\n',
    "messages of a form": '  "login.forgotPassword": "Did you forget your password?",\n',
}


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_of_a_text_full_of_secrets_the_beginning_is_judged(name: str) -> None:
    text = hostile.text(name, 200_000)
    clean, kinds = redact(text)
    assert "unjudged" in kinds and clean.endswith(REST) and clean.count(REST) == 1
    assert REST + "]" not in clean and 400 < len(clean) < 60_000
    assert redact(clean) == (clean, ())


@pytest.mark.parametrize("name", WRITTEN)
def test_what_somebody_wrote_is_judged_whole(name: str) -> None:
    text = WRITTEN[name] * (200_000 // len(WRITTEN[name]))
    assert judged(text, BOUNDS[0][0]) < len(text)
    assert redact(text) == (text, ())


def test_what_is_judged_is_redacted_as_ever() -> None:
    clean, kinds = redact(FULL)
    whole = [redact(line)[0] for line in FULL[:2_000].split("\n")[:-1]]
    assert clean.split("\n")[: len(whole)] == whole
    assert set(kinds[:-1]) == {"token"}


def test_lines_that_hold_none_stay() -> None:
    text = FULL + "\ndef tide_table():\n    (the gauge of the harbour)\n\n" + FULL
    assert redact(text)[0].endswith(f"{REST}\ndef tide_table():\n    (the gauge of the harbour)\n\n{REST}")


@pytest.mark.parametrize(
    "lines",
    [
        *(
            "password:\n\nhunter\n",
            "name: DB_PASSWORD\nvalue: hunter\n",
            "the secret is hunter\n",
            "('anna', 'hunter'),\n",
        ),
        *("anna | hunter\n", "rabbitmqctl add_user anna hunter\n", "root:hunter\n", "vault login hunterhunterhunter\n"),
        *("senha: hunter\n", "Seed phrase\n" + "apple\nhunter\n" * 6),
        *("-----BEGIN PRIVATE KEY-----\nhunterhunterhunter\n", "kind: Secret\ndata:\n  note: hunter\n"),
    ],
)
def test_no_line_stays_that_may_hold_one(lines: str) -> None:
    assert "hunter" not in redact(FULL + "\n" + lines + FULL)[0]


def test_a_text_that_repeats_a_mark_is_no_less_bounded() -> None:
    text = "[redacted:token] " * 200 + FULL
    assert redact(text)[1][-1] == "unjudged"


@pytest.mark.parametrize("sign", ["\u200b", "\x1b[0m"])
def test_names_are_counted_as_they_are_shown(sign: str) -> None:
    text = FULL.replace("token", f"to{sign}ken")
    assert "token" not in text
    assert redact(text)[0].endswith(REST)


def test_no_secret_is_cut_where_the_judged_part_ends() -> None:
    end = judged(FULL, BOUNDS[0][0])
    words = "correct-battery staple-harbour lantern tide"
    for shift in range(0, 40, 3):
        at = end - shift
        text = f'{FULL[:at]} the password is "{words}" {FULL[at:]}'
        clean = redact(text)[0]
        assert clean.endswith(REST) and "battery" not in clean and "staple" not in clean


@pytest.mark.parametrize("size", range(30_000, 30_040, 3))
def test_no_half_of_a_secret_stays_of_a_line_without_spaces(size: int) -> None:
    text = "x" * (size - 30_000) + hostile.text("minified JSON", size)
    values = re.findall(r'"password":"(\w+)"', text)
    clean = redact(text)[0]
    assert clean.endswith(REST) and len(values) > 400
    assert not [value for value in values if value[:6] in clean]


def test_data_is_hidden_that_a_manifest_calls_secret_below_the_end() -> None:
    end = judged(FULL, BOUNDS[0][0])
    at = FULL.rindex("\n", 0, end - 60) + 1
    manifest = "data:\n  note: plainwords\napiVersion: v1\nmetadata:\n  name: tide\n"
    padding = "".join(f"  label{n}: x\n" for n in range(150))
    text = FULL[:at] + manifest + padding + "kind: Secret\n" + FULL[at:]
    assert "plainwords" not in redact(text)[0]


def test_a_text_is_bounded_of_which_a_sixth_are_secrets() -> None:
    assert redact(redaction.look_alikes(random.Random(1)))[0].endswith(REST)
