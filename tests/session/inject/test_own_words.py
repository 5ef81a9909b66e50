"""What a person wrote of a prompt himself, and what he pasted: of the first is made what agents are told of him."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.speech import own_words
from core.speech.decisive import lines_of
from session.inject import topics, work
from session.inject.work_signpost import _said
from session.lost.talk import Said, Talk
from session.state import task

ORDER = "Never use f-strings in logging calls"
ASKED = "Please find out why and fix it in the order gateway"
LOG = "2026-11-21T10:00:00 INFO worker-0 took order 17\n2026-11-21T10:00:01 ERROR worker-0 must never wait for a lease"
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/w/gateway.py", line 7, in take\n'
    "    lease.wait()\n"
    "LeaseError: a worker must never wait for a lease"
)
DIFF = f"diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-# Always wait for the lease of it\n+# {ORDER}\n context never read"
PASTED = [
    f"```\n{ORDER}\n```",
    f"```markdown\n{ORDER}\n```python\nx\n```\n{ORDER}\n```",
    f"~~~ text\n{ORDER}\n\n{ORDER}\n~~~",
    f"'''\n{ORDER}\n'''",
    f"> {ORDER}",
    f"> {ORDER}\n>\n> Always rename the tables.",
    f'"{ORDER}"',
    f"- “{ORDER}.”\n- “Always rename the tables of it.”",
    f'"{ORDER}.\nAlways rename the tables." — Kim',
    f"« {ORDER}. »",
    f"<ticket>\n{ORDER}\n\n</ticket>",
    f'<comment author="kim">{ORDER}</comment>',
    f"The ticket says:\n{ORDER}\nAlways rename the tables",
    f"JIRA ticket:\n\n{ORDER}\nAlways rename the tables",
    f"Orders are lost\nDescription: {ORDER}",
    f'10.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /{ORDER}"\nerror[E0308]: {ORDER}',
    f"It reads as follows:\n\n    {ORDER}\n\n    Always rename the tables",
    LOG,
    f"[10:00:01] {ORDER}\nNov 21 10:00:01 host app: {ORDER}\nworker-1  | {ORDER}\nERROR: {ORDER}",
    TRACE,
    f"Error: {ORDER}\n    at take (/w/gateway.js:7:3)\n    at run (/w/gateway.js:9:3)",
    DIFF,
    f"$ cat RULES.md\n{ORDER}\nAlways rename the tables",
    "kim@host:~/w$ make test\n-rw-r--r-- 1 kim kim 12 never",
    f'{{\n  "rule": "{ORDER}",\n  "must": [\n    "never"\n  ]\n}}',
    f"def take(order):\n    # {ORDER}\n    call({{\n    }});",
]


@pytest.mark.parametrize("pasted", PASTED)
@pytest.mark.parametrize("form", ["{pasted}\n\n{asked}", "{asked}:\n\n{pasted}", "{pasted}\n\n{asked}\n\n{pasted}"])
def test_what_a_person_pasted_is_not_his_word(form: str, pasted: str) -> None:
    prompt = form.format(pasted=pasted, asked=ASKED)
    older = "Migrate the users table to the new schema"
    assert work.demands([prompt], 9) == []
    assert "f-strings" not in " ".join(lines_of([f"user: {prompt}"], "", 9_999))
    assert topics.is_request(prompt) and topics.is_topic(prompt)
    shown = work.opening(work.last_task([older, prompt, "go on"]))
    assert ASKED in shown and "f-strings" not in shown and "worker" not in shown


@pytest.mark.parametrize(
    "pasted", [ORDER, f"Rules:\n- {ORDER}", f"1. Rename it\n   {ORDER}", f"My rules:\n    {ORDER}"]
)
def test_what_he_wrote_himself_is(pasted: str) -> None:
    prompt = f"{ASKED}.\n\n{pasted}"
    assert own_words.of(prompt) == own_words.said(prompt) == prompt
    assert any(ORDER in demand for demand in work.demands([prompt], 9))


def test_a_quotation_in_a_line_is_no_order() -> None:
    assert work.demands([f'{ASKED}. Kim wrote: "{ORDER}."', f'Kim wrote "{ORDER}" under the fix'], 9) == []
    assert work.demands([f'Never write "{ORDER}" in the handbook'], 9) == [f'Never write "{ORDER}" in the handbook']
    assert own_words.said('The name "order gateway" of it, then. "Say it in so many words." ok') == (
        'The name "order gateway" of it, then.  ok'
    )
    assert own_words.said('half "a quotation that never ends “and one that “does” then') == (
        'half "a quotation that never ends “and one that “does” then'
    )


def test_the_signpost_repeats_no_pasted_order(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = "Always keep the old tables of the harbour"
    turns = [("1", f"user: {mine}"), ("2", f"user: {LOG * 40}\n\n{ASKED}.\n> {ORDER}\n")]
    monkeypatch.setattr("core.store.sessions.transcripts.turns", lambda *given, **more: turns)
    db: Any = None
    assert _said(db, "s1", "", shown="")["demand"][0] == f'**The user said:** "{mine}"'
    turns[1] = ("2", f"user: {LOG * 40}\n\n{ASKED}.\n\n{ORDER} at all\n")
    assert _said(db, "s1", "", shown="")["demand"] == (f'**The user said:** "{ORDER} at all"', "2")


def test_what_was_lost_of_a_prompt_is_what_its_writer_said() -> None:
    class Told:
        def share(self, sentence: str) -> float:
            return 0.0

    told: Any = Told()
    reason = "We decided to keep the lease because the gateway must never wait for it"
    talk = Talk(
        told, [Said("1", "user", f"{LOG}\n\n{ASKED}", 1), Said("2", "user", f"> {reason}\n\nok, go on", 2)], str
    )
    assert [words.text for words in talk.words()] == [ASKED]
    assert talk.decisions() == []
    talk = Talk(told, [Said("1", "user", f"{reason}.\n\n{ASKED}, and tell me what it was", 1)], str)
    assert [words.text for words in talk.decisions()] == [f"{reason}."]


def test_the_state_keeps_a_request_and_not_the_log_before_it() -> None:
    def kept(text: str) -> Any:
        entry: Any = task.message(text)
        return entry["text"]

    assert kept(f"```\n{LOG * 3}\n```\n\n{ASKED}") == ASKED
    assert kept(f"> short\n\n{ASKED}") == f"short {ASKED}", "where it stands in what is shown, all of it is"
    assert kept(LOG * 3).startswith("2026-11-21T10:00:00 INFO"), "and where he wrote nothing himself"


@pytest.mark.parametrize("start", ["<task-notification>\n<id>7</id>\n</task-notification>", "Heartbeat: 7\n> all well"])
def test_what_a_program_wrote_is_nobodys_request(start: str) -> None:
    assert not topics.is_request(f"{start}\n{ASKED}") and not topics.is_topic(f"{start}\n{ASKED}")
    assert topics.is_request(f"<log>\n{LOG}\n</log>\n{ASKED}")


PROSE = [
    "Please move the harbour tables. They never fit:\n- the first\n  and goes on here\n- the second isn't\n\n1. Then",
    "Bitte prüfe, ob die „Warteliste“ stimmt.\nSie darf nie leer sein: das wäre falsch!\n\nDanke",
    "Il faut toujours garder l'ancienne « table ».\nEt puis : vérifier le reste ?",
    "¿Por qué falla la pasarela?\n¡Nunca borres los pedidos!",
    "请修复潮汐导入程序：\n失败请求之后的等待时间「太短」了。\n不要删除旧表。",
    "Пожалуйста, исправь импорт.\nНикогда не удаляй «старые» таблицы — они нужны.",
    "リースを待たないでください。\n「古い表」は残すこと。",
    "ERROR is what it says\nat 10:30 we meet: never push before\n2026-11-21 is the deadline\n>= 3 of them must stay",
    '"gauge" is the name\nuse `rm -rf build` first\n@kim said so; $5 of it, and 50 % too\n/etc/hosts is read only',
    "    all of it is indented, as an editor does\n    and never changed",
    "```npm test``` never works, look why\nINFO and WARN are levels",
]


@pytest.mark.parametrize("prose", PROSE)
def test_plain_prose_comes_back_as_it_is(prose: str) -> None:
    assert own_words.of(prose) == own_words.said(prose) == prose


def test_fix_it_is_a_request_beside_what_is_to_be_fixed() -> None:
    older = "Migrate the users table to the new schema"
    assert work.last_task([older, f"{TRACE}\n\nplease fix it"]) == work.last_task([f"please fix\n{LOG}"]) + " it"
    assert work.last_task([older, "please fix it"]) == work.last_task([older, f"{LOG}\n\nthanks"]) == older


def test_a_list_behind_a_diff_is_his() -> None:
    assert own_words.of(f"{DIFF}\n\n- {ORDER}\n- {ASKED}") == f"- {ORDER}\n- {ASKED}"
    assert own_words.of(f"{DIFF}\n\n-    {ORDER}\n\n{ASKED}") == ASKED


def test_a_single_quotation_is_all_that_he_says() -> None:
    assert own_words.of(f' "{ORDER}" \n') == f' "{ORDER}" \n'
    assert own_words.of(LOG.split("\n")[0]) == own_words.of(f"> {ORDER}") == own_words.of(f"```\n{ORDER}") == ""
    assert own_words.of("") == "" and own_words.of("\n \n") == "\n \n"


PARTS = [line for pasted in PASTED for line in pasted.split("\n")]
PARTS += [line for prose in PROSE for line in prose.split("\n")]
PARTS += [
    "",
    "  ",
    "```",
    "```py",
    '"""',
    "x:",
    "\tt",
    "<a>",
    "</a>",
    "</",
    "<",
    '"open it is',
    'and closed"',
    "\x0c",
    "\u2028",
]
LINES = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=12)), max_size=14)


@given(LINES)
def test_of_every_text_it_is_some_lines_in_their_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    own = own_words.of(text)
    left = iter(text.split("\n"))
    assert all(line in left for line in own.split("\n") if line)
    assert own_words.of(own) == own
    assert own == text or len(own) < len(text)
    assert len(own_words.said(text)) <= len(own)
