"""The form in which a model answers is read leniently, and what is not in the form is refused whole."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_redaction import slowness

from memory import gate
from memory.observe.reply import FACT, LONGEST, MOST, NARRATIVE, TEXT, NotTheFormError, parse

WHOLE = """\
<observations>
<segment>
<narrative>[gate=allow confidence=0.8 category=jc:projects reason=topic] The gateway was given retries.</narrative>
<facts>
- 🔴 [gate=allow confidence=.9 category=jc:operations reason=decided] It retries three times.
- [gate=hold] Redis may be slow.
</facts>
</segment>
<segment>
<narrative>The docs moved.</narrative>
<facts>
</facts>
</segment>
</observations>"""
RETRIES = "🔴 [gate=allow confidence=.9 category=jc:operations reason=decided] It retries three times."
ITEMS = [
    (NARRATIVE, "[gate=allow confidence=0.8 category=jc:projects reason=topic] The gateway was given retries."),
    (FACT, RETRIES),
    (FACT, "[gate=hold] Redis may be slow."),
    (NARRATIVE, "The docs moved."),
]


def items(reply: str) -> list[tuple[str, str]]:
    return [(item.type, item.text) for item in parse(reply).items]


def facts(reply: str) -> list[str]:
    return [text for kind, text in items(reply) if kind == FACT]


def test_the_form_as_it_was_asked_for() -> None:
    assert items(WHOLE) == ITEMS
    assert not parse(WHOLE).cut


@pytest.mark.parametrize(
    "loose",
    [
        f"Sure! Here is what I noted in `<observations>` form:\n\n```xml\n{WHOLE}\n```\nLet me know if you need more.",
        f"I will write <observations> now, as asked.\n{WHOLE}",
        f"<think>\nthe form is <observations><facts>- not this</facts></observations>\n</think>\n{WHOLE}",
        WHOLE.replace("</narrative>", "").replace("</facts>", ""),
        WHOLE.replace("</segment>", "").replace("</narrative>", ""),
        WHOLE.replace("observations>", "OBSERVATIONS >").replace("<facts>", '<Facts lang="en">'),
        WHOLE.replace("<observations>", "").replace("</observations>", ""),
        WHOLE.replace("\n", "\r\n"),
        WHOLE.replace("\n- ", "\n   * "),
        re.sub(r"\n- (🔴|\[)", r"\n1. \1", WHOLE),
        WHOLE.replace("- [gate=hold]", "2) [gate=hold]"),
        WHOLE.replace("\n- 🔴", "\n🔴").replace("- [gate", "[gate"),
        WHOLE.replace("It retries three", "It retries\n  three"),
        WHOLE.replace("- [gate=hold] Redis may be slow.", "- <item>[gate=hold] Redis may be slow.</item>"),
        WHOLE.replace("<facts>\n- 🔴", "<facts>\n<list>\n- 🔴").replace("slow.\n", "slow.\n</list>\n"),
        WHOLE.replace("Redis may", "Redis &#109;ay").replace("The docs", "The&nbsp;docs"),
    ],
)
def test_the_same_loosely(loose: str) -> None:
    assert items(loose) == ITEMS


def test_facts_without_bullets_are_lines() -> None:
    assert facts("<facts>\nOne is here.\n\nTwo is there.\n</facts>") == ["One is here.", "Two is there."]


def test_one_element_a_fact() -> None:
    assert facts("<facts>\n<fact>One is here.</fact>\n<fact>- Two.</fact></facts>") == ["One is here.", "Two."]


def test_text_outside_of_narrative_and_facts() -> None:
    reply = "<observations>\n- [gate=allow] Deploys run from main.\n- The second.\n</observations>"
    assert items(reply) == [(TEXT, "[gate=allow] Deploys run from main."), (TEXT, "The second.")]
    assert items("<observation>Tabs, not spaces.</observation> and so on") == [(TEXT, "Tabs, not spaces.")]
    assert items("<segment>Tabs, not spaces.\n<facts>- One.</facts></segment> bye")[0] == (TEXT, "Tabs, not spaces.")


def test_entities_are_read_after_the_tags() -> None:
    reply = "<facts>\n- Say &lt;/facts&gt; &amp; &lt;narrative&gt; as &quot;text&quot;.\n</facts>"
    assert facts(reply) == ['Say </facts> & <narrative> as "text".']
    assert facts("<facts>\n- &amp;lt; stays an entity.\n</facts>") == ["&lt; stays an entity."]


def test_other_tags_in_a_text_stay() -> None:
    reply = "<facts>\n- Wrap X in <Suspense> and List<String>.\n- a < b and c > d.\n</facts>"
    assert facts(reply) == ["Wrap X in <Suspense> and List<String>.", "a < b and c > d."]


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        (WHOLE[: WHOLE.index("</facts>")], 3),
        (WHOLE[: WHOLE.index("may be slow")], 2),
        (WHOLE[: WHOLE.index("- [gate=hold]") + 4], 2),
        (WHOLE[: WHOLE.index("</narrative>") + 5], 1),
        (WHOLE[: WHOLE.index("- [gate=hold]")] + "</fac", 2),
    ],
)
def test_half_a_reply_gives_what_is_whole(cut: str, kept: int) -> None:
    reply = parse(cut)
    assert [(item.type, item.text) for item in reply.items] == ITEMS[:kept]
    assert reply.cut


@pytest.mark.parametrize(
    "nothing", ["<observations></observations>", "<observations/>", "<observations>\n</observations>"]
)
def test_nothing_worth_noting_is_an_answer(nothing: str) -> None:
    reply = parse(f"Nothing lasts here.\n{nothing}\n")
    assert reply.items == ()
    assert not reply.cut


@pytest.mark.parametrize(
    "other",
    [
        "",
        "I cannot help with that.",
        '{"observations": ["The gateway retries three times."]}',
        "- The gateway retries three times.",
        "<html><body>502 Bad Gateway</body></html>",
        "Use `<observations>` for it.",
        "<observations>",
        "<observations>\n<segment>\n<narr",
        "<observations><segment><facts>\n- ",
        "<observations><segment><facts>\n- The gateway re",
        "\0\ufffd<>" * 100,
    ],
)
def test_what_is_not_the_form_is_refused(other: str) -> None:
    with pytest.raises(NotTheFormError):
        parse(other)


@pytest.mark.parametrize(
    ("inside", "kept"),
    [
        ("- one two", ["one two"]), ("- - one two", ["- one two"]), ("* - one", ["- one"]), ("-one", ["-one"]),
        ("(12) one\n123. two", ["one", "two"]), ("- 1234. one", ["1234. one"]), ("- …\n- one", ["one"]),
        ("- one\n  goes on\n- two", ["one goes on", "two"]), ("one\n- two", ["one", "two"]),
        ("- <b>- one</b>", ["one"]), ("- <b>one</b> two", ["<b>one</b> two"]), ("- <b>one</i>", ["<b>one</i>"]),
        ("- **[gate=hold]** one **two**", ["[gate=hold] one **two**"]), ("- [gate=hold]\n- one", ["one"]),
        ("- [gate=hold] ...\n- one", ["one"]), ("- [gate=hold one", ["[gate=hold one"]),
        # what looks like a bullet within a text is a part of it
        ("They chose Node 22. It runs.", ["They chose Node 22. It runs."]), ("- pnpm - not npm", ["pnpm - not npm"]),
        ("pnpm - not npm\nThe limit is 3. It holds.", ["pnpm - not npm", "The limit is 3. It holds."]),
        ("<li>\n- one\n</li>", ["one"]), ("[gate=hold] one\n[gate=allow] two", ["[gate=hold] one", "[gate=allow] two"]),
        ("- " + "x" * LONGEST, ["x" * LONGEST]), ("- " + "x" * (LONGEST + 1), ["x" * (LONGEST - 1) + "…"]),
    ],
)  # fmt: skip
def test_what_of_the_facts_is_an_item(inside: str, kept: list[str]) -> None:
    assert facts(f"<facts>\n{inside}\n</facts>") == kept


def test_a_narrative_is_one_item_whatever_its_lines_begin_with_unless_it_is_annotated_anew() -> None:
    assert items("<narrative>One.\n- Two.\nThree.</narrative>") == [(NARRATIVE, "One. - Two. Three.")]
    assert items("<narrative>[gate=hold] One.\n[gate=allow] Two.</narrative>") == [
        (NARRATIVE, "[gate=hold] One."), (NARRATIVE, "[gate=allow] Two."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "kept", "cut"),
    [
        ("<observations><facts>\n- One.\n", ["One."], True), ("<observations><facts>\n- One.\n- Two", ["One."], True),
        ("<observations><facts>\n- One.\n- [gate=hold reason=a.", ["One."], True),
        ("<observations><facts>\n- One.\n- [gate=hold] Two.", ["One.", "[gate=hold] Two."], True),
        ("<facts>\n- One.\n</facts>", ["One."], False), ("<facts>\n- One.\n</facts> and more", ["One."], False),
        ("<observations><facts>\n- One.\n</facts>", ["One."], True),
        ("<observations><facts>\n- One.\n</facts></segment>", ["One."], False),
        ("<observations><facts>\n- One.\n</facts></observations> more.", ["One."], False),
        ("<think><facts>- no.</facts></think><facts>\n- One.\n</facts>", ["One."], False),
        ("<thinking><facts>- no.</facts></thinking><think>a</think><facts>\n- One.\n</facts>", ["One."], False),
        ("<facts>\n- One.\n</facts><think>never closed", ["One."], False),
    ],
)  # fmt: skip
def test_where_a_reply_breaks_off(reply: str, kept: list[str], cut: bool) -> None:
    assert facts(reply) == kept
    assert parse(reply).cut is cut


def test_bounds() -> None:
    many = parse("<facts>\n" + "- one fact of many.\n" * 500 + "</facts>")
    assert len(many.items) == MOST
    long = parse(f"<facts>\n- {'word ' * 3000}\n</facts>")
    assert len(long.items[0].text) <= LONGEST


@pytest.mark.parametrize(
    "part", ["<", "<facts", "<observations>", "</", "`<facts>", "- [gate=", "< ", "<think>", "<a "]
)
def test_a_large_reply_takes_no_longer_than_it_is_long(part: str) -> None:
    reply = part * (200_000 // len(part))
    began = time.process_time()
    try:
        parse(reply)
    except NotTheFormError:
        pass
    took = time.process_time() - began
    assert took < 2 or took < 2 * slowness()


_words = st.from_regex(r"[A-Z][a-z]{2,8}( [a-z0-9&<>\"']{1,8}){1,8}\.", fullmatch=True)
_heads = st.sampled_from(["", "[gate=hold] ", "🟡 [gate=discard conf=.3 reason=a, b] ", "[verdict=allow category=x] "])
_items = st.tuples(_heads, _words).map("".join)
_segments = st.lists(st.tuples(_items, st.lists(_items, max_size=4)), max_size=4)


@settings(max_examples=40)
@given(_segments, st.sampled_from(["-", "*", "•", "1.", "(2)"]), st.booleans(), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    segments: list[tuple[str, list[str]]], bullet: str, fenced: bool, closed: bool, escaped: bool
) -> None:
    written, expected = "", []
    for narrative, listed in segments:
        shown = [html.escape(text) if escaped else text for text in (narrative, *listed)]
        written += f"<segment>\n<narrative>{shown[0]}" + ("</narrative>\n" if closed else "\n")
        written += "<facts>\n" + "".join(f"{bullet} {text}\n" for text in shown[1:]) + ("</facts>\n" if closed else "")
        expected += [(NARRATIVE, narrative), *((FACT, text) for text in listed)]
    written = f"<observations>\n{written}</observations>"
    if fenced:
        written = f"Here:\n```\n{written}\n```"
    found = items(written)
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    for (_, text), (_, wanted) in zip(found, expected, strict=True):
        once = wanted if escaped else html.unescape(wanted)  # what was written as "&lt" stays so where it was escaped
        assert text == " ".join(once.split())
        assert gate.judge(text)["verdict"] in gate.VERDICTS


_scraps = [
    *"<>/`- \n[]=*ax.&;🔴",
    "<observations>",
    "</observations>",
    "</facts>",
    "<facts>",
    "[gate=hold]",
    "<segment>",
]


@given(st.lists(st.sampled_from(_scraps), max_size=60).map("".join))
def test_no_text_breaks_it(reply: str) -> None:
    try:
        found = parse(reply)
    except NotTheFormError as reason:
        assert str(reason)
    else:
        assert all(any(map(str.isalnum, item.text)) and item.text == item.text.strip() for item in found.items)


@given(st.data())
def test_a_reply_cut_anywhere_invents_nothing(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE)))
    try:
        found = items(WHOLE[:at])
    except NotTheFormError:
        return
    assert found == ITEMS[: len(found)]


def test_a_form_that_is_opened_again_keeps_the_facts_and_drops_what_was_only_talk() -> None:
    again = "<observations><observation>Deploys wait for it</observation></observations>"
    facts_first = f"<observations><segment><fact>The queue drains at 14:00</fact>{again}"
    assert items(facts_first) == [(FACT, "The queue drains at 14:00"), (TEXT, "Deploys wait for it")]
    assert items(f"I answer in <observations>, as was asked.\n{again}") == [(TEXT, "Deploys wait for it")]
