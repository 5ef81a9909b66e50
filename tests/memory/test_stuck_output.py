"""A large line does not end the session's archive: outputs full of secrets are cut, and images are left out."""

import base64
import itertools
import json
import random
import string
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from claude_transcript import Transcript
from conftest import JOELCLAW, PATIENCE_S, attempt, clean_environment

TRIES = 3  # hooks, in case the machine is slow


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


LOG = f"first line of the log\n{hostile(120_000)}\nharbour.py:31: the last line"


class Stuck:
    """A session in which calls side by side returned these outputs; its hooks run one after the other."""

    def __init__(self, tmp_path: Path, *outputs: str) -> None:
        self.home, self.folder, self.transcript = tmp_path / "home", tmp_path / "project", tmp_path / "s.jsonl"
        self.folder.mkdir(parents=True)
        written, calls, results = Transcript(self.transcript, cwd=str(self.folder)), [], []
        for number, output in enumerate(outputs):
            calls.append({"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "cat log"}})
            results.append({"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": False})
        written.user("look at the log of the harbour build")
        written.write(written.entry("assistant", calls), written.entry("user", results))
        written.assistant("The parser of the tide tables breaks on tabs.")

    def hook(self, deadline_ms: str) -> None:
        event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(self.transcript)}
        done = subprocess.run(
            [JOELCLAW, "hook", "claude"], input=json.dumps({**event, "cwd": str(self.folder)}), cwd=self.folder,
            env=clean_environment(self.home, JOELCLAW_HOOK_DEADLINE_MS=deadline_ms),
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")

    def hits(self) -> list[dict[str, object]]:
        return attempt(self.home, "recall", "tide tables break on tabs").result["hits"]

    def archive(self) -> None:
        """Run hooks until what was said behind the outputs is archived."""
        for number in range(1, TRIES + 1):
            self.hook(str(2_000 * number))
            if self.hits():
                return
        pytest.fail("the session is stuck")


def test_a_hook_archives_the_rest(tmp_path: Path) -> None:
    stuck = Stuck(tmp_path, LOG)
    stuck.archive()
    shown = attempt(stuck.home, "recall", "show", "harbour.py", "--json").out
    assert "the last line" in shown + attempt(stuck.home, "recall", "harbour.py").out, "the tail is kept"


def test_no_half_of_a_secret_is_left_where_an_output_is_cut(tmp_path: Path) -> None:
    behind = "Tr0ub4dorQuay harbour_quay.py:31: the gate stuck\n" + "harbour_gate.py:31: the gate was shut\n" * 99
    stuck = Stuck(tmp_path, LOG + "\nPASSWORD=" + behind[:2_000])
    stuck.archive()
    stored = "".join(path.read_bytes().decode("latin-1") for path in stuck.home.glob("store.db*"))
    assert "harbour_gate.py" in stored and "Tr0ub4dorQuay" not in stored


def test_hostile_outputs_stop_no_session(tmp_path: Path) -> None:
    Stuck(tmp_path, *(hostile(420_000, seed) for seed in range(4))).archive()


def pictures(form: str, size: int) -> list[dict[str, Any]]:
    """Four screenshots as a client may write them; the base64 of each has `size` characters."""
    data = base64.b64encode(random.Random(size).randbytes(size * 3 // 4)).decode()
    wrapped = "\n".join(data[at : at + 76] for at in range(0, len(data), 76))
    url = f"data:image/png;base64,{data}"
    forms: dict[str, dict[str, Any]] = {
        "base64": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        "wrapped": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": wrapped}},
        "url": {"type": "image_url", "image_url": {"url": url}},
        "result": {"type": "tool_result", "tool_use_id": "t0", "content": [{"type": "image", "data": data}]},
    }
    return [forms[form]] * 4


@pytest.mark.parametrize(("form", "is_first", "size"), [
    *itertools.product(("base64", "wrapped", "url", "result"), (True, False), (30_000,)),
    ("base64", True, 4_800_000), ("wrapped", False, 4_800_000),
])  # fmt: skip
def test_a_prompt_keeps_its_text_whatever_images_are_with_it(
    tmp_path: Path, form: str, is_first: bool, size: int
) -> None:
    stuck = Stuck(tmp_path, "nothing")
    text = {"type": "text", "text": "these pictures show the saker\u00e9 chart with the wrong axis"}
    images = pictures(form, size)
    message = {"role": "user", "content": [*images, text] if is_first else [text, *images]}
    prompt = {"type": "user", "uuid": "u9", "sessionId": "s", "cwd": str(stuck.folder), "message": message}
    rest = stuck.transcript.read_text()
    stuck.transcript.write_text(json.dumps(prompt).replace("/", "\\/") + "\n" + rest)
    stuck.archive()
    found = attempt(stuck.home, "recall", "saker\u00e9 chart axis", "--raw").out
    assert "with the wrong axis" in found
    again = attempt(stuck.home, "memory", "archive", str(stuck.transcript)).result
    assert (again["episodes"]["added"], again["badLines"]) == (0, 0)
