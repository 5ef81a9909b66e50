"""The calls of tools in a script of Codex's code mode are read from its source, without running it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.codex_script import tool_calls


def command(text: str, **more: Any) -> tuple[str, Any]:
    return "exec_command", {"cmd": text, **more}


@pytest.mark.parametrize(("script", "calls"), [
    (
        'await tools.exec_command({cmd:\'it\\\'s \\u00e9\', "workdir": "/w", n: 1})',
        [command("it's é", workdir="/w", n=1)],
    ),
    ('// tools.x({})\nawait tools["exec_command"]({"cmd": `ls -l`,});', [command("ls -l")]),
    (
        'const cmd = ["set -e", "make"].join(" && ")\nconst r = await tools.exec_command({ cmd })\ntext(r)',
        [command("set -e && make")],
    ),
    (
        'let c = "a"; c = "b" + (c + "/w"); tools.exec_command({cmd: c, tty: true, yield: later(7)})',
        [command("ba/w", tty=True)],
    ),
    (
        'const rs = await Promise.all([tools.exec_command({cmd: "a"}), tools.exec_command({cmd: "b"})])',
        [command("a"), command("b")],
    ),
    (
        'for (const f of ["x", "y"]) { await tools.exec_command({cmd: `cat ${f}`}) }',
        [command("cat ${f}")],
    ),
    (
        'const dir = "/w", n = 0; tools.exec_command({cmd: `cd ${dir} && head -n ${n}`, workdir: dir})',
        [command("cd /w && head -n 0", workdir="/w")],
    ),
    ('tools.exec_command({cmd: "head -n " + 5}); tools.exec_command({cmd: f(), workdir: "/w"})', [
        command("head -n 5"), ("exec_command", '{cmd: f(), workdir: "/w"}'),
    ]),
    (
        'tools.update_plan({plan: [{step: "mend", status: "pending"}]})',
        [("update_plan", {"plan": [{"step": "mend", "status": "pending"}]})],
    ),
    (
        "const p = `*** Begin Patch\n+const a = \\`b\\`\n*** End Patch`\ntext(await tools.apply_patch(p))",
        [("apply_patch", "*** Begin Patch\n+const a = `b`\n*** End Patch")],
    ),
    ("await tools.apply_patch(patch())", [("apply_patch", "patch()")]),
    ('text(ALL_TOOLS.length); const s = "tools.exec_command({cmd: 1})"', []),
])  # fmt: skip
def test_calls_are_read_with_their_arguments(script: str, calls: list[tuple[str, Any]]) -> None:
    assert tool_calls(script) == calls


PIECES = (
    "tools.x({ cmd: `a${ }` } ) [ ] ( => = for ( const x of [ 1 ] function f async ... , ; + . ' \" / \n map".split(" ")
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_any_source_is_read_without_an_error(script: str) -> None:
    assert isinstance(tool_calls(script), list)
