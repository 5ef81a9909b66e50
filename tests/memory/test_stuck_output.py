"""An output that takes longer to read than a hook may run does not end the session's archive."""

from __future__ import annotations

import base64
import json
import random
import string
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import JOELCLAW, PATIENCE_S, attempt, clean_environment

SLOW = """\
import time
from core import redaction
quick = redaction.redact
def redact(text):
    if "SLOW OUTPUT" in text and len(text) > 50_000:
        BUSY
    time.sleep(len(text) / 200_000)
    return quick(text)
redaction.redact = redact
"""
"""On any machine: a redactor that never comes to the end of it, and is slow with everything else."""
TRIES = 12
"""The first two fail; on a slow machine one without the output may, too: from the fourth on they have more time."""


LOG = "first line of the log\n" + "SLOW OUTPUT \x1b[31mtoken=\x1b[0m\n" * 4_000 + "harbour.py:31: the last line"


def lines(folder: Path, *outputs: str) -> list[dict[str, object]]:
    """A session in which one line has what a call, or calls side by side, returned."""
    calls = [
        {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "cat build.log"}}
        for n in range(len(outputs))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": output, "is_error": False}
        for n, output in enumerate(outputs)
    ]
    entries = [
        ("user", "look at the log of the harbour build"),
        ("assistant", calls),
        ("user", results),
        ("assistant", [{"type": "text", "text": "The parser of the tide tables breaks on tabs."}]),
    ]
    return [
        {"type": role, "uuid": f"u{number}", "sessionId": "s", "cwd": str(folder),
         "timestamp": f"2026-11-25T10:00:0{number}Z", "message": {"role": role, "content": content}}
        for number, (role, content) in enumerate(entries)
    ]  # fmt: skip


class Stuck:
    """A session with these outputs; its hooks run one after the other."""

    def __init__(self, tmp_path: Path, *outputs: str, slow: str = "time.sleep(600)") -> None:
        self.home, self.folder, self.transcript = tmp_path / "home", tmp_path / "project", tmp_path / "s.jsonl"
        self.folder.mkdir(parents=True)
        self.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines(self.folder, *outputs)))
        if slow:
            (tmp_path / "sitecustomize.py").write_text(SLOW.replace("BUSY", slow))
        self._path = f"{tmp_path}"

    def hook(self, deadline_ms: str) -> None:
        event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(self.transcript)}
        done = subprocess.run(
            [JOELCLAW, "hook", "claude"], input=json.dumps({**event, "cwd": str(self.folder)}), cwd=self.folder,
            env=clean_environment(self.home, PYTHONPATH=self._path, JOELCLAW_HOOK_DEADLINE_MS=deadline_ms),
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")

    def hits(self) -> list[dict[str, object]]:
        hits: list[dict[str, object]] = attempt(self.home, "recall", "tide tables break on tabs").result["hits"]
        return hits

    def tries(self, deadline_ms: str) -> int:
        """How many hooks it took until what was said behind the outputs was archived."""
        tries = 0
        while not self.hits():
            tries += 1
            assert tries <= TRIES, "the session is stuck"
            self.hook(str(int(deadline_ms) * (1 + tries // 4)))
        return tries

    def late(self) -> int:
        """How many hooks did not answer in time."""
        return int(attempt(self.home, "otel", "search", "hook.timeout", "--hours", "1").result["found"])


def test_the_third_hook_archives_the_rest_and_status_reports_it(tmp_path: Path) -> None:
    stuck = Stuck(tmp_path, LOG)
    home, transcript = stuck.home, stuck.transcript
    assert stuck.tries("1000") > 2, "an output is left out only after it failed twice"
    shown = attempt(home, "recall", "show", "harbour.py", "--json").out + attempt(home, "recall", "harbour.py").out
    assert "the last line" in shown, "the tail is kept"
    for command in ("status", "doctor"):
        result = attempt(home, command).envelope["result"]
        findings = [
            finding
            for finding in result.get("problems", result.get("findings"))
            if finding["code"] == "OUTPUT_LEFT_OUT"
        ]
        assert len(findings) == 1 and str(transcript) in findings[0]["message"], result


def test_no_half_of_a_secret_is_left_where_an_output_is_cut(tmp_path: Path) -> None:
    behind = "Tr0ub4dorQuay harbour_quay.py:31: the gate stuck\n" + "harbour_gate.py:31: the gate was shut\n" * 99
    stuck = Stuck(tmp_path, LOG + "\nPASSWORD=" + behind[:2_000])
    assert stuck.tries("1000") > 2
    stored = "".join(path.read_bytes().decode("latin-1") for path in stuck.home.glob("store.db*"))
    assert "harbour_gate.py" in stored and "Tr0ub4dorQuay" not in stored


@pytest.mark.parametrize("slow", ["time.sleep(600)", "re = __import__('re').match('(a+)+$', 'a' * 60 + 'b')"])
def test_hooks_that_skip_the_output_finish_in_time(tmp_path: Path, slow: str) -> None:
    for deadline_ms in ("2000", "8000", "30000"):  # the first that leaves a slow machine the time
        stuck = Stuck(tmp_path / deadline_ms, LOG, slow=slow)
        if stuck.tries(deadline_ms) == 3 and not stuck.late():
            return
    pytest.fail("hooks were late")


def hostile(size: int, seed: int = 5) -> str:
    """What a redaction has to look at closely: coloured, encoded, quoted and wrapped look-alikes of secrets."""
    draw, parts, length = random.Random(seed), [], 0
    while length < size:
        value = "".join(draw.choices(string.ascii_letters + string.digits, k=draw.randint(16, 48)))
        plain = f"password={value}"
        form: Any = draw.choice([
            f"\x1b[3{draw.randint(1, 7)}mtoken\x1b[0m=\x1b[1m{value[:9]}\x1b[0m{value[9:]}",
            base64.b64encode(plain.encode()).decode(), quote(quote(f"{plain}&api_key={value}", safe="")),
            plain.replace("=", "\\u003d"), f"&quot;password&quot;&#58; &quot;{value}&quot;",
            plain.replace("s", "s\u200b"), plain.replace("=", "\uff1a"), f"https://u:{value}@h.example/?token={value}",
            f"eyJ{value}.eyJ{value}.{value}", f'{{\\"auth\\":\\"{value}\\",\\"key\\":\\"{{{{x}}}}\\"}}',
            f"sshpass -p '{value}' ssh h; curl -u a:{value} h; mysql -p{value}",
            "".join(f"\\x{ord(char):02x}" for char in plain),
        ])  # fmt: skip
        parts.append(form + draw.choice(["\n", " ", ",", "\\n"]))
        length += len(parts[-1])
    return "".join(parts)[:size]


def test_hostile_outputs_stop_no_session(tmp_path: Path) -> None:
    stuck = Stuck(tmp_path, *(hostile(420_000, seed) for seed in range(6)), slow="")
    assert stuck.tries("2000") <= 4
