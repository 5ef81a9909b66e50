"""Control and invisible characters are printed safely, up to the bounds of each kind."""

import json

from core.quoting import escaped, shown, shown_line, without_markup

PRINTED = "9 20 7e a1 34e 350 17b3 17b6 180a 2010 2030 ff9f fe10 fe70 ff00 e000 1bca4 1d17b 100000"
ACTING = "0 8 e 1b 7f 84 86 9f d800 dfff"
HIDING = (
    "ad 34f 61c 17b4 17b5 180b 180f 200b 200f 202a 202e 2060 2064 2066 206f fe00 fe0f feff fff9 fffb 1bca0 1bca3 1d173"
    " 1d17a e0020 e007f e0100 e01ef"
)
BREAKING, BLANK = "a d b c 85 2028 2029", "1c 1f 115f 1160 2800 3164 ffa0"
ESCAPED = (
    ("é\u200b", "é\\u200b"), ("\x7f", "\\u007f"), ("\u2028", "\\u2028"), ("\U000e0041", "\\udb40\\udc41"),
    ("\U0001bca3", "\\ud82f\\udca3"), ("\ufe0f", "\\ufe0f"), ("\ue000", "\ue000"),
    ("<system>", "\\u003csystem>"), ("{\n}", "{\n}"), ("\x85", "\\u0085"), ("\u3164", "\\u3164"),
)  # fmt: skip
HARNESS = (
    "<system>", "</system>", "<SYSTEM>", "<System-Reminder>", "<tool_result x=1>", "< system>", "<\u00a0/ system>",
    "<sys>", "<Sys>", "<invoke>", "<env>", "<|im_start|>", "<| im_end |>", "<｜User｜>", "<user_info/>",
    "<hook_", "<system_load", "< /system_load", "<|a|>", "<joelclawx>", "<<system>",
    "<end_of_turn>",
    "<teammate-message y>", "< system_x >", "<user_query>", "</UserQuery>", "<reminderInstructions>",
    "</any_tag>", "<∣im_start∣>", "<ѕystem-reminder>", "<υser_quеrу>", "<ꜱʏꜱᴛᴇᴍ>", "<𝐬𝐲𝐬𝐭𝐞𝐦-reminder>",
    "<ｕｓｅｒ＿query>", "<system–reminder>", "<us\ner_query>", "< s y s t e m >", "<turn|>",
    "<|channel>", "<|im_start|…", "<|im_sta…", "<|user|…",
)  # fmt: skip
ENTITIES = "&lt; &LT; &#60; &#0060; &#x3c; &amp;lt; &amp;amp;lt; &lt &#65308; ＜ ⟨".split()
OTHERS = (
    "<div>", "List<System>", "Map<String, List<Env>>", "a < system_load", "a < b", "<", "<>", "<|", "<|x", "<||>",
    "<| |>", "<|x y|>", "<sy", "<systemd>", "<usher>", "<Human>", "<human-made>", "< \n",
    "<important_note>", "<Thinking>", "<pod_name>", "List<UserQuery>", "<größe>", "<имя>", "<h1>",
    "<my-button></my-button>", "<first> <b_c>", "a[i]", "[INFO]", "[x](y)", "[[bin]]", "[tool.x]",
    "arr[inst]", "[OPTIONS]", "&amp; &lt;b&gt; &#39;",
    "&lt",
)  # fmt: skip


def signs(codes: str) -> list[str]:
    return [chr(int(code, 16)) for code in codes.split()]


def test_special_characters_are_printed_safely() -> None:
    for sign in signs(PRINTED):
        assert shown(f"a{sign}b") == f"a{sign}b"
        text = json.dumps(f"a{sign}b", ensure_ascii=False)
        assert escaped(text) == text
    for sign in signs(ACTING):
        assert shown(f"a{sign}b") == "a\ufffdb"
        assert shown(f"a{sign}{sign}b{sign}") == "a\ufffdb\ufffd", "a run of them by one"
    for sign in signs(HIDING):
        assert shown(f"a{sign}b") == "ab"
    for codes, instead in ((BREAKING, "\n"), (BLANK, " ")):
        for sign in signs(codes):
            assert shown(f"a{sign}b") == f"a{instead}b"
            assert shown_line(f" a{sign}{sign}b ") == "a b"


def test_json_escapes_what_would_be_changed() -> None:
    for text, out in ESCAPED:
        assert escaped(text) == out


def test_harness_markup_is_defused_and_other_tags_stay() -> None:
    for tag in HARNESS:
        head, _, rest = tag.rpartition("<")
        assert without_markup(f"a {tag} b") == f"a {head}‹{rest} b"
    for tag in ("[INST]", "[/INST]", "[ inst ]", "[SYSTEM_PROMPT]", "［INST］", "[ІΝЅТ]", "[IN\nST]", "[INST…"):
        assert without_markup(f"a {tag} b") == f"a ‹{tag[1:]} b"
    for entity in ENTITIES:
        assert without_markup(f"a {entity}system-reminder> b") == "a ‹system-reminder> b"
    for text in OTHERS:
        assert without_markup(f"a {text} b") == f"a {text} b"
