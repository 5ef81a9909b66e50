"""No half of a secret remains where the archive cuts a text."""

from hypothesis import given, settings
from hypothesis import strategies as st
from secret_samples import POSITIVE, Sample

from clients.entries import Entry, Step, call_entry, result_entry, summary_entry
from core.records import Session
from core.store import sessions, sqlite
from memory.archive import call_drafts, call_rows, texts

CUTS = {
    "tool": 100,
    "file": 1000,
    "command": call_drafts.MAX_COMMAND_CHARS,
    "raw command": call_drafts.MAX_COMMAND_CHARS * 4,
    "input": call_drafts.MAX_READ_CHARS // 2,
    "output": call_drafts.MAX_READ_CHARS // 2,
    "error": call_drafts.MAX_READ_CHARS // 2,
    "summary": sessions.SUMMARY_CHARS,
    "plan": 200 * 8,
    "message": texts.MAX_BODY_CHARS,
}
ABOUT: Session = {
    "id": "s", "client": "claude", "project": "p", "folder": "/w", "updated_at": 0, "prompts": 0, "calls": 0,
    "plan": [],
}  # fmt: skip
WORDS = "some plain words of the work and its surroundings "


def stored_of(place: str, text: str) -> str:
    """Everything that is stored of a session in which a text stands at a place."""
    db = sqlite.open_in_memory()
    work = call_drafts.PieceCalls(call_drafts.Waiting({}), "/w")
    path = text if place == "file" else "/w/a.py"
    arguments = {"file_path": path, "text": text if place == "input" else ""}
    tool, command = text if place == "tool" else "Bash", text if "command" in place else ""
    plan = Entry("plan")
    plan.steps = [Step("1", text if place == "plan" else "x", "pending")]
    for entry in (
        call_entry("c1", tool, arguments, ["a.py"], command),
        result_entry("c1", text if place in ("output", "error") else "fine", place == "error"),
        plan,
        summary_entry(text if place == "summary" else "none", 1),
    ):
        work.add(entry)
    call_rows.store_calls(db, {**ABOUT, "plan": []}, work, is_first=True, now=1)
    rows = [list(db.execute(f"SELECT * FROM {table}")) for table in ("session", "call", "name", "compaction")]
    return repr(rows) + (texts.bounded(text) if place == "message" else "")


def halves(secret: str) -> list[str]:
    """What must not be there: each line of a secret, its start and its end, so far as they are long enough to tell."""
    parts = [line for line in secret.split() if len(line) >= 16]
    return [part for line in parts for part in (line[:12], line[-12:])]


@given(sample=st.sampled_from(POSITIVE), place=st.sampled_from(sorted(CUTS)), share=st.floats(0.2, 0.9))
@settings(max_examples=10, deadline=None)
def test_no_half_of_a_secret_is_left(sample: Sample, place: str, share: float) -> None:
    at = sample.text.find(sample.secret) + int(len(sample.secret) * share)  # so much of the text stands before the cut
    size = CUTS[place]
    filler = WORDS * (size // len(WORDS) + 1)
    head = filler[: max(0, size - at - 1)] + " "
    text = head + sample.text + " " + WORDS * 600 + filler + "\n"
    stored = stored_of(place, text)
    behind = max(0, size - len(sample.text) + at - 1)
    ended = stored_of(place, filler + WORDS * 600 + sample.text + " " + filler[:behind])
    for part in halves(sample.secret):
        assert part not in stored
        assert part not in ended


@given(sample=st.sampled_from(POSITIVE), most=st.integers(10, 4000), share=st.floats(0, 1), many=st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_a_text_full_of_secrets_is_cut_as_well(sample: Sample, most: int, share: float, many: int) -> None:
    """Redaction shortens a text: what stood far behind the cut comes to stand before it."""
    size = most + texts.MARGIN
    text = (sample.text + "\n") * (size // (len(sample.text) + 1) * many + 2)
    shift = "x " * int(share * len(sample.text) / 2)
    for cut in (texts.start(shift + text, most), texts.tail(text + shift, texts.plain, most, texts.MARGIN)):
        assert len(cut) <= most
        for part in halves(sample.secret):
            assert part not in cut


def test_text_without_secrets_is_cut_at_the_usual_place() -> None:
    text = WORDS * 3000
    assert texts.start(text, 1000) == text[:1000]
    assert texts.tail(text, texts.plain, 1000, texts.MARGIN) == text[-1000:]
    assert texts.start("short", 1000) == "short"
