"""Each character that acts or hides, at the bounds of its kind: what is printed for it, and for its neighbours."""

from __future__ import annotations

import json

from core.output import escaped, shown, shown_line, without_markup

FAMILY = "\U0001f469\u200d\U0001f469"


WHAT_IS_PRINTED_AS_IT_IS = [
    0x09,
    0x20,
    0x7E,
    0xA1,
    0x34E,
    0x350,
    0x17B3,
    0x17B6,
    0x180A,
    0x2010,
    0x2030,
    0xFF9F,
    0xFE10,
    0xFE70,
    0xE000,
    0x1BCA4,
    0x1D17B,
    0x100000,
]


def test_what_is_printed_as_it_is() -> None:
    for code in WHAT_IS_PRINTED_AS_IT_IS:
        assert shown(f"a{chr(code)}b") == f"a{chr(code)}b"
        text = json.dumps(f"a{chr(code)}b", ensure_ascii=False)
        assert escaped(text) == text


WHAT_ACTS_IS_REPLACED = [
    0,
    8,
    14,
    27,
    127,
    132,
    134,
    159,
    0x202A,
    0x202E,
    0x2065,
    0x206F,
    0xD800,
    0xDFFF,
    0xFDD0,
    0xFDEF,
    0xFFF0,
    0xFFFB,
    0xFFFE,
    0xFFFF,
    0x1BCA0,
    0x1BCA3,
    0x1D173,
    0x1D17A,
    0xE0000,
    0xE0FFF,
    0xE0100,
    0xE01EF,
]


def test_what_acts_is_replaced() -> None:
    for code in WHAT_ACTS_IS_REPLACED:
        assert shown(f"a{chr(code)}b") == "a\ufffdb"
        assert shown(f"a{chr(code)}{chr(code)}b{chr(code)}") == "a\ufffdb\ufffd", "a run of them by one"


WHAT_ONLY_HIDES_GOES_WITHOUT_A_T = [
    0xAD,
    0x34F,
    0x61C,
    0x17B4,
    0x17B5,
    0x180B,
    0x180F,
    0x200B,
    0x200F,
    0x2060,
    0x2064,
    0xFE00,
    0xFE0F,
    0xFEFF,
]


def test_what_only_hides_goes_without_a_trace() -> None:
    for code in WHAT_ONLY_HIDES_GOES_WITHOUT_A_T:
        assert shown(f"a{chr(code)}b") == "ab"


WHAT_BREAKS_A_LINE_OR_IS_BLANK_I = [
    (0x0A, "\n"),
    (0x0D, "\n"),
    (0x0B, "\n"),
    (0x0C, "\n"),
    (0x85, "\n"),
    (0x2028, "\n"),
    (0x2029, "\n"),
    (0x1C, " "),
    (0x1F, " "),
    (0x115F, " "),
    (0x1160, " "),
    (0x2800, " "),
    (0x3164, " "),
    (0xFFA0, " "),
]


def test_what_breaks_a_line_or_is_blank_is_so_plainly() -> None:
    for code, instead in WHAT_BREAKS_A_LINE_OR_IS_BLANK_I:
        assert shown(f"a{chr(code)}b") == f"a{instead}b"
        assert shown_line(f" a{chr(code)}{chr(code)}b ") == "a b"


def test_the_end_of_a_line_of_another_system_is_one() -> None:
    assert shown("a\r\nb\r\rc") == "a\nb\n\nc"


JOINERS_STAY_WHERE_THEY_JOIN = [
    (FAMILY, FAMILY),
    ("a\u200db", "ab"),
    ("می\u200cخ", "می\u200cخ"),
    ("\u200cخ", "خ"),
    ("م\u200c", "م"),
    ("م\u200cb", "مb"),
    ("a\u200cخ", "aخ"),
    ("م\u200c\u2800", "م "),
    ("م\u200c\u200cخ", "م\u200cخ"),
    ("\u2713\ufe0f", "\u2713\ufe0f"),
    ("\u2713\ufe0e", "\u2713\ufe0e"),
    ("\u2713\ufe0f\ufe0f", "\u2713\ufe0f"),
    ("1\ufe0f", "1"),
    ("\ufe0f", ""),
    ("\u0606\u200d\u0606", "\u0606\u200d\u0606"),
    ("\u0601", "\u0601"),
    ("\x00\u200dم", "\ufffdم"),
    ("\u05ff\u200dم", "\u05ffم"),
]


def test_joiners_stay_where_they_join() -> None:
    for text, out in JOINERS_STAY_WHERE_THEY_JOIN:
        assert shown(text) == out


COLOURS_AND_MOVEMENTS_GO_WHOLE = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x9b1;31mred", "red"),
    ("\x1b[", "\ufffd"),
    ("\x1b[31", "\ufffd31"),
    ("a\x1b[?25hb", "ab"),
    ("a\x1b[ @b", "ab"),
    ("a\x1b[~b", "ab"),
    ("a\x1b[\x7fb", "a\ufffdb"),
    ("a\x1b[1\nb", "a\ufffd1\nb"),
    ("a\x1b[m\x1b[Kb", "ab"),
    ("a\x1b[1\u00e9b", "a\ufffd1éb"),
]


def test_colours_and_movements_go_whole() -> None:
    for text, out in COLOURS_AND_MOVEMENTS_GO_WHOLE:
        assert shown(text) == out


JSON_ESCAPES_WHAT_WOULD_BE_CHANG = [
    ("é\u200b", "é\\u200b"),
    ("\x7f", "\\u007f"),
    ("\u2028", "\\u2028"),
    ("\U000e0041", "\\udb40\\udc41"),
    ("\U0001bca3", "\\ud82f\\udca3"),
    ("\uffff", "\\uffff"),
    ("\ufe0f", "\\ufe0f"),
    ("\ue000", "\ue000"),
    ("<system>", "\\u003csystem>"),
    ("{\n}", "{\n}"),
    ("\x85", "\\u0085"),
    ("\u3164", "\\u3164"),
]


def test_json_escapes_what_would_be_changed() -> None:
    for text, out in JSON_ESCAPES_WHAT_WOULD_BE_CHANG:
        assert escaped(text) == out


MARKUP_OF_A_HARNESS_IS_NONE = [
    "<system>",
    "</system>",
    "<SYSTEM>",
    "<System-Reminder>",
    "<tool_result x=1>",
    "< system>",
    "<\u00a0/ system>",
    "<sys>",
    "<Sys>",
    "<invoke>",
    "<env>",
    "<|im_start|>",
    "<| im_end |>",
    "<｜User｜>",
    "<｜x",
    "<user_info/>",
    "<hook_",
    "<system_load",
    "< /system_load",
    "<|a|>",
    "<system",
    "<joelclawx>",
    "<<system>",
    "<|" + "x" * 45 + "|>",
    "<end_of_turn>",
    "<teammate-message y>",
    "< system_x >",
]


def test_markup_of_a_harness_is_none() -> None:
    for tag in MARKUP_OF_A_HARNESS_IS_NONE:
        head, _, rest = tag.rpartition("<")
        assert without_markup(f"a {tag} b", "(") == f"a {head}({rest} b"


OTHER_TAGS_AND_COMPARISONS_STAY = [
    "<div>",
    "List<System>",
    "Map<String, List<Env>>",
    "a < system_load",
    "a < b",
    "<",
    "<>",
    "<|",
    "<|x",
    "<||>",
    "<| |>",
    "<|x y|>",
    "<sy",
    "<systemd>",
    "<usher>",
    "<Human>",
    "<human-made>",
    "<|" + "x" * 46 + "|>",
    "< \n",
    "<important_note>",
    "<Thinking>",
]


def test_other_tags_and_comparisons_stay() -> None:
    for text in OTHER_TAGS_AND_COMPARISONS_STAY:
        assert without_markup(f"a {text} b") == f"a {text} b"
