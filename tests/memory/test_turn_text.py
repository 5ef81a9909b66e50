"""Of an archived turn the observer reads what was said, and nothing of the tools."""

from __future__ import annotations

import pytest

from memory.observe import turn_text


@pytest.mark.parametrize(
    ("episode", "role", "text"),
    [
        ("user: Use tabs.", "user", "Use tabs."),
        ("assistant: I run it.\n$ npm test\nfailed: 3 tests\nand more", "assistant", "I run it."),
        ("assistant: $ npm test\n12 passed", "assistant", ""),
        ("assistant: Edit /a/b.py\nThe file was changed", "assistant", ""),
        ("assistant: Both.\nEdit /a b/c.py x/d.py\nok\n$ ls", "assistant", "Both."),
        ("assistant: So:\nRead\n1 import os", "assistant", "So:"),
        ("assistant: So:\nRead a/b\n1 import os", "assistant", "So:"),
        ("assistant: So:\nRead b.py\n1 import os", "assistant", "So:"),
        ("assistant: So:\nRead b.c\n1 import os", "assistant", "So:"),
        ("assistant: So:\nRead b. now\nthe rest.", "assistant", "So:\nRead b. now\nthe rest."),
        ("assistant: So:\nRead a/b then\nthe rest.", "assistant", "So:\nRead a/b then\nthe rest."),
        ("assistant: So:\nRead it.\nAll of it.", "assistant", "So:\nRead it.\nAll of it."),
        ("assistant: So:\nmcp__linear__get\n{}", "assistant", "So:"),
        ("assistant: So:\nwrite_file src/a.py\nok", "assistant", "So:\nwrite_file src/a.py\nok"),
        ("assistant: Run it:\n```\n$ npm test\n```\nThen push.", "assistant", "Run it:\n```\n```\nThen push."),
        ("assistant: Read the docs first.\nWrite tests too.", "assistant", "Read the docs first.\nWrite tests too."),
        ("user: $ ls\nwhat is that?", "user", "what is that?"),
        ("user: me@host:~/x$ ls -l\nwhat is that?", "user", "what is that?"),
        ("user: it costs $ 5 or $5", "user", "it costs $ 5 or $5"),
        ("user: call_user_function_with_care failed", "user", "call_user_function_with_care failed"),
        ("user: see call_9aBcDeFgHiJkLmNoPqRs there", "user", "see  there"),
        ("user: a<tool_result>x</tool_result>b<invoke name='y'>rest", "user", "ab"),
        ("user: <invoked> stays", "user", "<invoked> stays"),
        ("Caroline: hello there", "user", "Caroline: hello there"),
        ("no colon at all", "user", "no colon at all"),
    ],
)
def test_what_of_an_episode_was_said(episode: str, role: str, text: str) -> None:
    assert turn_text.said(episode) == (role, text)


def test_a_turn_is_bounded() -> None:
    most = 4600
    assert turn_text.said("user: " + "x" * most) == ("user", "x" * most)
    assert turn_text.said("user: " + "x" * (most + 1)) == ("user", "x" * (most - 1) + "…")
