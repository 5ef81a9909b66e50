"""What a shell command runs: its programs and verbs, without what surrounds them."""

import time

from claude_transcript import SESSION, Transcript
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from core import shell_command
from core.shell_command import place_of
from session import command_runs

LINEAR_S = 1.0
"""A reading that is quadratic takes minutes."""


WHAT_A_COMMAND_DOES = [
    ("", []),
    ("make", ["make"]),
    ("/usr/local/bin/go test ./...", ["go test"]),
    # programs that run another one
    ("timeout 60 pytest", ["pytest"]),
    ("timeout --signal=KILL 1m go vet", ["go vet"]),
    ("sudo -E make", ["make"]),
    ("time -p make", ["make"]),
    ("nohup env CI=1 -u HOME npm test", ["npm test"]),
    ("find . -name x | xargs -n 1 gofmt -w", ["gofmt"]),
    ("sudo", ["sudo"]),
    ("command -v go", []),
    ("bash -lc 'cd web && bun test'", ["bun test"]),
    # words of the shell
    ("for f in *; do go test; done", ["go test"]),
    ("if make test; then echo fine; else make lint; fi", ["make test", "make lint"]),
    ("{ make a; make b; } > log", ["make a", "make b"]),
    ("case $1 in a) make one;; b|c) make two;; esac", ["make one", "make two"]),
    ("build() { make all; }; build", ["make all", "build"]),
    ("[[ -f x && -f y ]] && make", ["make"]),
    ("if [[ -f x && -f y ]]; then make; fi", ["make"]),
    ("(make a); case $1 in b|c) make d;; esac", ["make a", "make d"]),
    ("make>out&& make b", ["make", "make b"]),
    ("((count > 1)) && make", ["make"]),
    # what parts them
    ("make a && make b || make c; make d | tee log & make e\nmake f", [f"make {target}" for target in "abcdef"]),
    ("npm run build \\\n  --watch && \\\n npm test", ["npm run build", "npm test"]),
    ("make test 2>&1 | tail -5", ["make test"]),
    ("make >out 2>err &>all && make b", ["make", "make b"]),
    ("make # and then; go test\ngo vet", ["make", "go vet"]),
    # quotes, substitutions, here-documents
    ('git commit -m "fix; run && more"', ["git commit"]),
    ("git commit -m 'it; (said) |' && git push", ["git commit", "git push"]),
    ('git commit -m "a \\"b; c\\" d" ; make', ["git commit", "make"]),
    ("git commit -m \"$(cat <<'EOF'\nIt's one; make x\nEOF\n)\" && git push", ["git commit", "git push"]),
    ('npm test "$(ls "a b" | head)" && make', ["npm test", "make"]),
    ("diff <(make a) <(make b) && make c", ["make c"]),
    ("echo `make a; make b`; make c", ["make c"]),
    ("cat > a.py <<'EOF'\nmake x\nit's\nEOF\nmake lint", ["make lint"]),
    ("cat <<-EOF | python3 -\n\tmake x\n\tEOF\nmake", ["make"]),
    ("cat <<A <<B; make\nmake x\nA\nmake y\nB\nmake z", ["make", "make z"]),
    ("python3 - <<EOF\nnever ends; make", []),
    ("grep x <<< 'make; y' && make", ["make"]),
    ("git commit -m 'never closed; make", ["git commit"]),
    # variables
    ("FOO=1 BAR='a b' make test", ["make test"]),
    ("x=$(git rev-parse HEAD)", []),
    ("files=(a b c); make", ["make"]),
    ("${GO:-go} test", []),
    # verbs
    ("git -C web -c user.name=x commit -m y", ["git commit"]),
    ("npm --prefix web run lint", ["npm run lint"]),
    ("docker compose -f a.yml up", ["docker compose up"]),
    ("python3 -m pytest -q", ["python3 pytest"]),
    ('python3 -c "import x; x.run()"; node -e 1; python3 a.py', ["python3 a.py"]),
    # that only look
    ("cd x && cat a | grep b; ls || true", []),
    ("git status && git diff | head", []),
    ("go test --help", []),
    ("curl x | python3 -m json.tool | while read a; do break; done", []),
]


def test_what_a_command_does() -> None:
    for command, kinds in WHAT_A_COMMAND_DOES:
        run = [step for step in shell_command.steps(command) if not step["looks"]]
        assert [f"{step['program']} {step['verb']}".rstrip() for step in run] == kinds


PIECES = [
    *"make git cd sudo timeout bash -lc for do case [[ ]] x= EOF if then else done ||".split(),
    " ",
    "\n",
    "& ",
    "set -e",
]
SIGNS = ["'", '"', "`", "\\", "$(", "${", "(", ")", "{", "}", "((", "<<", "<<<", "<(", ">", "2>&1", "&&", "|", ";", "#"]


@given(st.text() | st.lists(st.sampled_from(PIECES + SIGNS)).map("".join))
def test_any_text_is_read(text: str) -> None:
    for step in shell_command.steps(text):
        assert step["program"] and step["words"]
        assert 0 <= step["start"] < len(text)
    shell_command.has_reliable_status(text)
    command_runs.is_check(text)
    place_of("", text)


A_LONG_COMMAND_IS_READ_IN_LINEAR = (
    *PIECES, *SIGNS, "sudo ", "a=b ", "$(<<E\n", "<<E ", "[[ && ", "make;", "bash -c '", "((a ",
)  # fmt: skip


def test_a_long_command_is_read_in_linear_time() -> None:
    for piece in A_LONG_COMMAND_IS_READ_IN_LINEAR:
        text = piece * (20_000 // len(piece))
        began = time.process_time()
        shell_command.steps(text)
        shell_command.steps(f'"{text}')
        shell_command.has_reliable_status(text)
        assert time.process_time() - began < LINEAR_S


A_SUCCESS_THAT_IS_THE_WORKS_OWN = (
    "pytest", "make 2>&1", "cd x && pytest -q", "npm test && git commit -m x", "rm -f x; pytest",
    "sleep 3; npm test;", "set -o pipefail; pytest | tail -3", "set -euo pipefail\npytest | tail -3\necho x",
    "set -e\nmake\necho done", "cat x | head", "git log | head", "grep x y; ls", "printf 'y\\n' | git add -p",
    "for f in a b; do pytest $f; done", "if [ -f x ]; then make; fi", "pytest || exit 1",
    "pytest || { echo bad; exit 1; }", "npm test || npm run test:slow", "(cd x && make)", "{ make; }",
    "make && echo fine", "bash -c 'cd x && make'", "make > log 2>&1; rc=$?; tail log; exit $rc",
    "pytest | tail; exit ${PIPESTATUS[0]}", "case $x in a|b) make;; esac",
    "git commit -m \"$(cat <<'EOF'\na; b | c\nEOF\n)\"", "",
)  # fmt: skip


def test_a_success_is_only_reported_if_the_work_succeeded() -> None:
    for command in A_SUCCESS_THAT_IS_THE_WORKS_OWN:
        assert shell_command.reliable_outcome(command, "ok") == "ok"


def test_every_report_agrees_on_a_piped_command(run: Run, transcript: Transcript) -> None:
    transcript.user("Make the importer of the tide tables wait twice as long after each failed request")
    transcript.used("c", "Bash", "checking src/tide_import.py", command="make tide_check 2>&1 | tail -3")
    transcript.compact("The user works.")
    run("memory", "archive", str(transcript.path))
    shown = run("memory", "show", f"call:{SESSION}:1").result
    assert (shown["outcome"], ", ok" in shown["place"]) == ("", False)
    (command,) = run("lost", SESSION, "--kind", "commands").result["lost"]["commands"]["entries"]
    assert (command["command"], command["outcome"]) == ("make tide_check 2>&1 | tail -3", "")
    extract = run("sessions", "extract", SESSION).out
    assert "tide_check" in extract and "tail -3 ok" not in extract
