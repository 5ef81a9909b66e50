"""How a command ends: its exit code, what it prints, what is started behind it, and why it was not done."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from cli import execution
from cli.answer import Answer, StdoutFullError
from cli.installation import install
from cli.memory import bulk, observe
from cli.otel import export
from cli.parameter import Command
from cli.session import background
from cli.store import prune, sync
from core import files
from core.errors import Failure

ANSWER = Answer({"a": 1}, exit_code=3)
INSTALL: dict[str, Any] = {
    "agent": [], "all": False, "list": False, "mcp": False, "dry_run": False, "project": False, "diff": False,
    "yes": True,
}  # fmt: skip
WOULD: dict[str, Any] = {
    "events": {"byAge": 0, "bySize": 0}, "episodes": 0, "toolCalls": 0, "hooksAndInjections": 5,
    "bytes": {"overLimit": 0, "before": 9, "after": 9},
}  # fmt: skip


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home of its own; a fault of ours is told, and does not end the test."""
    monkeypatch.setenv("JOELCLAW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JOELCLAW_DEBUG", raising=False)
    monkeypatch.delenv("JOELCLAW_DETACHED_SECONDS", raising=False)
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")


def refused(call: Any, *given: Any, **options: Any) -> str:
    with pytest.raises(Failure) as caught:
        call(*given, **options)
    return caught.value.message


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command of that path that returns or raises so; what came of it, and whether jobs were started."""

    def run(outcome: object, path: str = "recall", *, as_json: bool = True, view: str = "") -> tuple[int, bool, str]:
        started: list[bool] = []
        printed: list[str] = []

        def handler(_: object) -> object:
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        def shown(_: object) -> None:
            printed.append("view")

        monkeypatch.setattr(execution, "load", lambda target: handler if target == "m:f" else shown)
        monkeypatch.setattr(execution, "start_due", lambda: started.append(True))
        monkeypatch.setattr(execution, "print_answer", lambda *_: printed.append("json"))
        monkeypatch.setattr(execution, "print_envelope", lambda made: printed.append(made["error"]["code"]))
        monkeypatch.setattr(execution, "tell", printed.append)
        code = execution.run(Command(path, "m:f", "", view=view), {}, as_json=as_json)
        return code, bool(started), " ".join(printed)

    return run


def test_how_a_command_ends(ran: Any) -> None:
    assert ran(Answer(1)) == (0, True, "json")
    assert ran(ANSWER) == (3, False, "json")
    assert ran(None) == (0, True, "")
    assert ran(2) == (2, False, "")
    assert ran(Failure("ODD", "it broke", "mend it")) == (1, False, "ODD")
    assert ran(KeyboardInterrupt()) == (130, False, "")
    assert ran(ValueError("x")) == (1, False, "UNKNOWN_ERROR")
    full = "joelclaw recall: stdout takes no more: no space; what was printed is not all\n"
    assert ran(StdoutFullError("no space")) == (1, False, full)


def test_who_reads_a_view(ran: Any) -> None:
    assert ran(Answer(1), view="v:f")[2] == "json"
    assert ran(Answer(1), view="v:f", as_json=False)[2] == "view"
    assert ran(Answer(1), as_json=False)[2] == "json", "without a view"
    assert ran(Answer(1, text="t"), view="v:f", as_json=False)[2] == "json", "the text alone was asked for"
    told = ran(Failure("ODD", "it broke", "mend it"), as_json=False)[2]
    assert told == "joelclaw recall: it broke\n  mend it\n"


@pytest.mark.parametrize(
    ("path", "started"),
    [
        ("hook", False), ("otel export", False), ("otel emit", True), ("store push", False), ("status", False),
        ("doctor", False), ("install", False), ("uninstall", False), ("idle run", False), ("idle list", True),
        ("mcp", False), ("memory write", True),
    ],
)  # fmt: skip
def test_what_starts_background_jobs(ran: Any, path: str, started: bool) -> None:
    assert ran(Answer(1), path)[1] is started


def test_a_view_that_fails_leaves_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[object] = []
    monkeypatch.setattr(execution, "print_answer", lambda *told: printed.extend(told))
    for fault, shown in ((ValueError(), ["joelclaw recall", ANSWER]), (KeyboardInterrupt(), [])):
        monkeypatch.setattr(execution, "load", lambda _, fault=fault: lambda _: (_ for _ in ()).throw(fault))
        printed.clear()
        execution.draw(Command("recall", "m:f", "", view="v:f"), ANSWER)
        assert printed == shown
    monkeypatch.setenv("JOELCLAW_DEBUG", "1")
    monkeypatch.setattr(execution, "load", lambda _: lambda _: (_ for _ in ()).throw(ValueError()))
    with pytest.raises(ValueError):
        execution.draw(Command("recall", "m:f", "", view="v:f"), ANSWER)


def test_the_name_in_what_is_told_of_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(execution, "tell", said.append)
    assert execution.unprinted("", StdoutFullError("no space")) == 1
    assert said == ["joelclaw: stdout takes no more: no space; what was printed is not all\n"]


def test_files_that_others_could_use_are_told_but_not_to_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    said: list[str] = []
    monkeypatch.setattr("otel.spool.keep", kept.extend)
    monkeypatch.setattr(execution, "tell", said.append)
    names = [f"f{n}" for n in range(6)]
    execution._tell_corrected(names, quiet=True)
    assert said == []
    execution._tell_corrected(names, quiet=False)
    assert said == [f"joelclaw: others could use 6 files or folders in {files.home()}; now only you can\n"]
    assert [event["metadata"] for event in kept] == [{"count": 6, "first": names[:5]}] * 2


def test_a_stdout_that_is_closed_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: int) -> bool:
        raise OSError

    for isatty, is_one in ((lambda _: True, True), (lambda _: False, False), (closed, False)):
        monkeypatch.setattr(execution.os, "isatty", isatty)
        assert execution.stdout_is_terminal() is is_one


@pytest.mark.parametrize(
    ("dropped", "unknown", "older", "told"),
    [
        ((), (), False, []), ((("f", "is no TOML"),), (), False, ["faults"]), ((), (("x", "y"),), False, ["faults"]),
        ((), (), True, ["older"]),
    ],
)  # fmt: skip
def test_what_is_told_before_jobs_are_started(
    monkeypatch: pytest.MonkeyPatch, dropped: Any, unknown: Any, older: bool, told: list[str]
) -> None:
    said: list[str] = []
    settings = SimpleNamespace(dropped=dropped, unknown=unknown)
    monkeypatch.setattr("core.config.load", lambda: settings)
    monkeypatch.setattr("core.config.unknown_variables", lambda: ())
    monkeypatch.setattr(execution, "_tell_faults", lambda *given: said.append("faults") or given)
    monkeypatch.setattr(execution, "_tell_older", lambda: said.append("older"))
    monkeypatch.setattr(execution.files, "is_store_older", lambda: older)
    monkeypatch.setattr("core.process.background_jobs.start_due", said.append)
    execution.start_due()
    assert said == [*told, settings]


def test_a_fault_behind_a_command_is_told_to_who_looks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError

    monkeypatch.setattr("core.config.load", fail)
    execution.start_due()
    monkeypatch.setenv("JOELCLAW_DEBUG", "1")
    with pytest.raises(ValueError):
        execution.start_due()


def test_a_fault_of_ours_and_one_of_the_store() -> None:
    ours = execution.unknown(ValueError("x"))
    assert (ours.code, ours.message, ours.exit_code) == ("UNKNOWN_ERROR", "ValueError: x", 1)
    assert execution.unknown(apsw.FullError("full")).code != "UNKNOWN_ERROR"


def test_faults_of_settings_are_told_where_they_were_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(execution, "tell", said.append)
    monkeypatch.setattr("session.settings_faults.line", lambda event: f"{event} is odd")
    for made, kept in ((["a", "b"], True), (["a"], False), ([], True)):
        monkeypatch.setattr("session.settings_faults.events", lambda *_, made=made: made)
        monkeypatch.setattr("otel.spool.keep", lambda _, kept=kept: kept)
        execution._tell_faults((), ())
    assert said == ["joelclaw: a is odd\njoelclaw: b is odd\n"]


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ((), False), (("zzz",), False), (("task",), False), (("task", "s", "x"), False), (("queries", "s"), False),
        (("notice", "s"), False), (("observe", "s"), False), (("notice",), True), (("task", "s"), True),
        (("task", "s"), True),
    ],
)  # fmt: skip
def test_the_words_of_a_background_job(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], done: bool) -> None:
    monkeypatch.setattr("core.process.background_process.stop_in_time", lambda: True)
    monkeypatch.setattr("session.compaction.client_compaction.notify", lambda _: {"did": "notice"})
    monkeypatch.setattr("session.checkpoint_run.task_job", lambda *_, **__: {"did": "task"})
    left: list[bool] = []
    monkeypatch.setattr(background, "_leave_project", lambda: left.append(True))
    assert background.run(words) == ({"did": words[0]} if done else None)
    assert left == []


def test_a_model_is_asked_from_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    monkeypatch.setattr("core.process.background_process.stop_in_time", lambda: False)
    monkeypatch.setattr(background, "_leave_project", lambda: left.append(True))
    monkeypatch.setattr("session.observation.run.observe_waiting", lambda _, alone: {"alone": alone})
    assert background.run(["observe"]) == {"alone": False}
    assert left == [True]


@pytest.mark.parametrize(
    ("lines", "failed", "done"), [(0, 0, True), (2, 1, True), (2, 2, False), (1, 1, False), (1, 0, True)]
)
def test_an_import_fails_where_no_line_was_good(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: int, failed: int, done: bool
) -> None:
    report = SimpleNamespace(lines=lines, failed=failed, errors=[{"line": 1, "reason": "no text"}])
    monkeypatch.setattr(bulk.import_export, "import_lines", lambda *_, **__: report)
    monkeypatch.setattr(bulk, "asdict", lambda _: {"lines": lines})
    monkeypatch.setattr(bulk.sqlite, "open_writing", lambda **_: None)
    monkeypatch.setattr(bulk.sqlite, "load_vectors", lambda _: False)
    (tmp_path / "a.jsonl").touch()
    options = {"file": str(tmp_path / "a.jsonl"), "format": "jsonl", "preview": False}
    from memory.other_stores import form

    options["format"] = form.OURS
    if done:
        assert bulk.import_(options).result == {"file": options["file"], "lines": lines}
    else:
        assert refused(bulk.import_, options) == f"none of {lines} lines is a memory; line 1: no text"


def test_an_export_is_of_the_collections_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    printed: list[bytes] = []
    lines = [b"a", b"b" * bulk._BLOCK, b"c", b"d"]
    monkeypatch.setattr(bulk.sqlite, "open_reading", lambda: 1)
    monkeypatch.setattr(bulk.import_export, "export_lines", lambda _, names: asked.append(names) or iter(lines))
    monkeypatch.setattr(bulk, "write_bytes", lambda data: printed.append(bytes(data)) or len(printed) < 9)
    assert bulk.export({"collection": "episodes"}) == bulk.export({"collection": None}) == 0
    assert asked == [("episodes",), ()]
    assert printed == [lines[0], lines[1], b"cd"] * 2, "who reads along gets the first line at once"
    printed.clear()
    monkeypatch.setattr(bulk, "write_bytes", lambda data: printed.append(bytes(data)) or False)
    assert bulk.export({"collection": None}) == 0
    assert printed == [b"a"], "nobody reads on"
    monkeypatch.setattr(bulk.sqlite, "open_reading", lambda: None)
    assert bulk.export({"collection": None}) == 0
    assert printed == [b"a"], "nothing is stored"


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({}, True), ({"follow": True}, True), ({"status": True, "to": "x"}, False), ({"follow": True, "to": ""}, False),
        ({"follow": True, "status": True}, False),
    ],
)  # fmt: skip
def test_what_an_export_is_asked(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], allowed: bool) -> None:
    for name in ("_once", "_follow", "_status", "_into_file"):
        monkeypatch.setattr(export, name, lambda _, name=name: name)
    monkeypatch.setattr(export.background_process, "stop_in_time", lambda: True)
    options = {"follow": False, "status": False, "to": None, **given}
    if allowed:
        assert export.run(options) == ("_follow" if given else "_once")  # type: ignore[comparison-overlap]
    else:
        assert refused(export.run, options) == "--follow, --status and --to exclude each other"
    assert export.run({"follow": False, "status": False, "to": "x"}) == "_into_file"  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("about", "offered"),
    [
        ({}, []), ({"events": {"byAge": 1, "bySize": 0}}, 1), ({"events": {"byAge": 0, "bySize": 1}}, 1),
        ({"episodes": 1}, 1), ({"toolCalls": 1}, 1), ({"bytes": {"overLimit": 1}}, 1),
    ],
)  # fmt: skip
def test_what_a_dry_prune_offers(monkeypatch: pytest.MonkeyPatch, about: dict[str, Any], offered: object) -> None:
    monkeypatch.setattr(prune.sqlite, "open_reading", lambda: 1)
    monkeypatch.setattr(prune.sqlite, "open_writing", lambda **_: None)
    monkeypatch.setattr(prune.background_process, "stop_in_time", lambda: True)
    monkeypatch.setattr(prune, "Retention", lambda *_, **__: SimpleNamespace(look=lambda: {**WOULD, **about}))
    answer: Any = prune.run({"dry_run": True})
    assert [one["command"] for one in answer.next_actions] == ["joelclaw store prune"] * bool(offered)


@pytest.mark.parametrize(
    ("terminals", "words", "live"),
    [((1,), [], True), ((0, 2), [], False), ((1,), ["--json"], False), ((), [], False)],
)
def test_an_export_that_follows_is_drawn_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, terminals: tuple[int, ...], words: list[str], live: bool
) -> None:
    settings: Any = None
    printed: list[Any] = []
    told: list[Any] = []
    monkeypatch.setattr(export.sys, "argv", ["joelclaw", *words])
    monkeypatch.setattr(export.sys, "unraisablehook", told.append)
    monkeypatch.setattr(export.os, "isatty", lambda number: number in terminals)
    monkeypatch.setattr(export.signal, "signal", lambda *_: None)
    monkeypatch.setattr(export.export, "follow", lambda *_: iter(["a", "b", "c"]))
    monkeypatch.setattr("cli.otel.view.live_export", lambda row: printed.append(f"live {row}"))
    monkeypatch.setattr(export, "write_json", lambda text: printed.append(text) or len(printed) < 2)
    assert export._follow(settings) == 0
    assert printed == (["live a", "live b", "live c"] if live else ['"a"', '"b"'])
    for fault in (KeyboardInterrupt(), ValueError()):
        what: Any = SimpleNamespace(exc_value=fault)
        export.sys.unraisablehook(what)
    assert [type(one.exc_value) for one in told] == [ValueError], "an interrupt ends the next round, untold"


def test_what_was_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = None
    one = SimpleNamespace(shown=lambda: {"signal": "logs"})
    for done, result in ((None, {"disabled": True, "destinations": []}), ([], {"disabled": False, "destinations": []}),
                         ([one], {"disabled": False, "destinations": [{"signal": "logs"}]})):  # fmt: skip
        monkeypatch.setattr(export.export, "run", lambda _, done=done: done)
        assert export._once(settings).result == result
    printed: list[str] = []
    monkeypatch.setattr(export.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr("otel.otlp.json_lines.every_line", lambda *_: iter([b"a\n", b"b\n", b"c\n"]))
    monkeypatch.setattr(export, "write_json", lambda text: printed.append(text) or len(printed) < 2)
    assert export._into_file("-") == 0
    assert printed == ["a", "b"], "nobody reads on"
    ours = os.path.join(files.home(), "x")
    assert refused(export._into_file, ours) == f"{ours} is among our own files"


@pytest.mark.parametrize("limited", [True, False])
def test_a_prune_of_its_own_says_nothing(monkeypatch: pytest.MonkeyPatch, limited: bool) -> None:
    asked: list[bool] = []

    def retention(*_: object, background: bool) -> Any:
        asked.append(background)
        return SimpleNamespace(run=lambda: WOULD)

    if limited:
        monkeypatch.setenv(prune.background_process.LIMIT, "9")
    monkeypatch.setattr(prune.sqlite, "open_reading", lambda: 1)
    monkeypatch.setattr(prune.sqlite, "open_writing", lambda **_: None)
    monkeypatch.setattr(prune.background_process, "stop_in_time", lambda: True)
    monkeypatch.setattr(prune, "_note", lambda *_: None)
    monkeypatch.setattr(prune, "Retention", retention)
    answer: Any = prune.run({"dry_run": False})
    assert answer == 0 if limited else answer.result == WOULD
    assert asked == [limited]
    monkeypatch.setattr(prune, "_note", lambda *_: (_ for _ in ()).throw(Failure("ODD", "it broke", "")))
    assert (prune.run({"dry_run": False}) if limited else refused(prune.run, {"dry_run": False})) == (
        0 if limited else "it broke"
    )


@pytest.mark.parametrize(("terminal", "words"), [(True, []), (True, ["--json"]), (False, []), (False, ["--json"])])
def test_who_reads_of_a_synchronisation(monkeypatch: pytest.MonkeyPatch, terminal: bool, words: list[str]) -> None:
    monkeypatch.setattr(execution, "stdout_is_terminal", lambda: terminal)
    monkeypatch.setattr(sync.sys, "argv", ["joelclaw", *words])
    assert sync._on_terminal() is (terminal and not words)


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"hooksAndInjections": 0}, None),
        ({"hooksAndInjections": 0, "bytes": {"before": 9, "after": 10}}, None),
        ({"hooksAndInjections": 0, "bytes": {"before": 10, "after": 9}}, 1),
        ({"hooksAndInjections": 1}, 0),
    ],
)
def test_an_event_tells_of_a_prune_where_something_went(
    monkeypatch: pytest.MonkeyPatch, about: dict[str, Any], told: int | None
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr("otel.log.try_append", lambda _db, events, _settings: kept.extend(events))
    db: Any = None
    result = {**WOULD, "events": {"byAge": 0, "bySize": 0}, **about}
    prune._note(db, db, result)
    assert [event["metadata"]["bytes"] for event in kept] == ([] if told is None else [told])


def test_events_of_both_kinds_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr("otel.log.try_append", lambda _db, events, _settings: kept.extend(events))
    db: Any = None
    prune._note(db, db, {**WOULD, "events": {"byAge": 3, "bySize": 4}})
    assert kept[0]["metadata"] == {"events": 7, "episodes": 0, "toolCalls": 0, "hooksAndInjections": 5, "bytes": 0}


def test_a_comparison_ends_with_1_where_the_sides_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[Any] = []
    monkeypatch.setattr(sync, "print_envelope", printed.append)
    monkeypatch.setattr(sync, "_on_terminal", lambda: False)
    counts = {"a": {"different": 3}, "b": {"different": 4}}
    for same, code in ((True, 0), (False, 1)):
        result = {"same": same, "collections": counts, "events": {"missingThere": 2}}
        monkeypatch.setattr(sync.replication, "verify", lambda *_, r=result: r)
        assert sync.verify({}) == code
    assert [one["ok"] for one in printed] == [True, False]
    assert printed[1]["error"]["message"] == "the local file and the cluster differ in 7 documents and 2 events"


def test_a_watch_ends_where_nobody_reads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = None
    printed: list[Any] = []
    monkeypatch.setattr(sync, "_on_terminal", lambda: False)
    monkeypatch.setattr(sync.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sync.replication, "watch", lambda *_: iter([{"n": 1}, {"n": 2}, {"n": 3}]))
    for reads, count in ((1, 1), (2, 2), (3, 3), (9, 4)):
        printed.clear()
        monkeypatch.setattr(sync, "_line", lambda value, reads=reads: printed.append(value) or len(printed) < reads)
        assert sync._watch(settings, 7) == 0
        assert printed == [{"watching": True, "seconds": 7}, *({"n": n} for n in range(1, count))]


@pytest.mark.parametrize("limited", [True, False])
def test_a_synchronisation_of_its_own_says_nothing(monkeypatch: pytest.MonkeyPatch, limited: bool) -> None:
    asked: list[Any] = []

    @contextlib.contextmanager
    def opened(*_: object, enable: bool = True) -> Any:
        asked.append(enable)
        yield SimpleNamespace(
            sync=lambda: {"did": "sync"},
            push=lambda _: {"did": "push"},
            pull=lambda _, **given: {"did": "pull", **given},
        )

    monkeypatch.setattr(sync.background_process, "stop_in_time", lambda: True)
    monkeypatch.setattr(sync.replication, "in_background", lambda *_: asked.append("background"))
    monkeypatch.setattr(sync.replication, "opened", opened)
    monkeypatch.setattr(sync, "_watch", lambda _, seconds: int(seconds))
    if limited:
        monkeypatch.setenv(sync.background_process.LIMIT, "9")
        assert (sync.sync({"watch": False, "seconds": 7}), asked) == (0, ["background"])
        return
    assert sync.sync({"watch": True, "seconds": 7}) == 7
    once: Any = sync.sync({"watch": False, "seconds": 7})
    assert (once.result, asked) == ({"did": "sync"}, [True])
    assert sync.push({}).result == {"did": "push"}
    pulled = sync.pull({"events": True, "leave": False})
    assert pulled.result == {"did": "pull", "with_events": True, "leave": False}
    assert asked == [True, True, False], "to pull sends nothing from then on"


@pytest.mark.parametrize(
    ("agents", "every", "wrong"),
    [([], False, "no agent was named"), (["pi"], True, "both --all and a name were given")],
)
def test_whom_to_install_for(agents: list[str], every: bool, wrong: str) -> None:
    assert refused(install._chosen, {**INSTALL, "agent": agents, "all": every}, lambda *_: "") == wrong
    for more in ({"agent": ["pi"]}, {"all": True}):
        assert refused(install.install, {**INSTALL, "list": True, **more}) == "--list shows every client"


def test_all_leaves_out_those_with_a_reason() -> None:
    def reason(client: Any, project: bool) -> str:
        return "" if client.name == "pi" else f"not here ({project})"

    chosen, skipped = install._chosen({**INSTALL, "all": True, "project": True}, reason)
    assert [client.name for client in chosen] == ["pi"]
    assert {"agent": "claude", "reason": "not here (True)"} in skipped and len(skipped) == len(
        install.registry.CLIENTS
    ) - 1
    named, none = install._chosen({**INSTALL, "agent": ["pi", "claude", "pi"]}, reason)
    assert ([client.name for client in named], none) == (["pi", "claude"], [])


def planned(**about: Any) -> Any:
    base = {
        "path": "/p", "changed": True, "before": b"old", "after": b"newer", "is_whole": False, "what": "the plugin",
        "notes": [], "client": SimpleNamespace(name="pi"), "project": False, "diff": lambda whole: f"diff {whole}",
    }  # fmt: skip
    return SimpleNamespace(**{**base, **about})


def test_what_is_told_of_a_file_that_changes() -> None:
    row = {"path": "/p", "changed": True, "created": False, "backup": "/b", "diff": "diff False"}
    assert install._file(planned(), {"/p": "/b"}, False) == row
    assert install._file(planned(), {}, False) == {**row, "changed": False, "backup": None}
    assert install._file(planned(before=None), {"/p": None}, True)["created"] is True
    short = install._file(planned(is_whole=True), {}, False)
    assert (short["bytes"], short["what"]) == (5, "the plugin")
    assert install._file(planned(is_whole=True, after=None), {}, False)["bytes"] == 3
    assert install._file(planned(is_whole=True, after=None, before=None), {}, False)["bytes"] == 0
    whole = install._file(planned(is_whole=True), {}, True)
    assert whole["diff"] == "diff True" and "bytes" not in whole


def test_what_is_told_of_a_client() -> None:
    nothing = install.plan.NOTHING
    first = planned(changed=False, notes=[nothing, "a"])
    other = planned(path="/q", notes=["a", "b"])
    same = planned(path="/r", changed=False, diff=lambda whole: "")
    told = install._shown([first, other, same], {"/q": None}, False)
    assert (told["agent"], told["scope"], told["path"], told["changed"]) == ("pi", "user", "/p", True)
    assert [one["path"] for one in told["also"]] == ["/q"]
    assert told["notes"] == ["a", "b"], "something changed"
    alone = install._shown([first, same], {}, False)
    assert (alone["changed"], alone["also"], alone["notes"]) == (False, [], [nothing, "a"])
    assert install._shown([planned(project=True)], {}, False)["scope"] == "project"


@pytest.mark.parametrize(
    ("given", "here", "installed"),
    [
        ({"mcp": True}, False, True), ({"mcp": True}, True, False), ({"mcp": True, "dry_run": True}, False, False),
        ({}, False, False), ({}, True, False),
    ],
)  # fmt: skip
def test_when_the_package_of_the_tools_is_installed(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], here: bool, installed: bool
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(install.mcp_package, "is_here", lambda: here)
    monkeypatch.setattr(install.mcp_package, "install", lambda: asked.append(True))
    monkeypatch.setattr(install, "_change", lambda *_: Answer(1))
    install.install({**INSTALL, **given})
    assert bool(asked) is installed


def changed(monkeypatch: pytest.MonkeyPatch, verb: str, *rounds: list[Any], **options: Any) -> tuple[Any, list[str]]:
    """The answer of an installation whose plans are looked at in these rounds, and what was carried out."""
    looks = iter(rounds)
    done: list[str] = []
    monkeypatch.setattr(install, "_chosen", lambda *_: ([], []))
    monkeypatch.setattr(install, "_plans", lambda *_: [next(looks)])
    monkeypatch.setattr(install, "_on_terminal", lambda: True)
    monkeypatch.setattr(install.backups, "left", lambda path: [f"{path}.bak"])
    monkeypatch.setattr(install.apply, "carry_out_after", lambda one, _: done.append(one.path))
    nobody: Any = None
    answer = install._change({**INSTALL, **options}, nobody, nobody, verb)
    return answer.result, done


def test_what_was_agreed_to_is_done_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [planned(), planned(path="/q")]
    result, done = changed(monkeypatch, "install", plans)
    assert done == ["/p", "/q"] and "backupsLeft" not in result["agents"][0]
    result, done = changed(monkeypatch, "uninstall", plans)
    assert done == ["/q", "/p"], "folders that were made for the first file go last"
    assert result["agents"][0]["backupsLeft"] == ["/p.bak", "/q.bak"]
    result, done = changed(monkeypatch, "install", plans, dry_run=True)
    assert (done, result["dryRun"], result["agents"][0]["changed"]) == ([], True, False)
    monkeypatch.setattr(install, "_agreed", lambda *_: False)
    result, done = changed(monkeypatch, "install", plans, yes=False)
    assert (done, result["declined"]) == ([], True)
    monkeypatch.setattr(install, "_agreed", lambda *_: True)
    assert changed(monkeypatch, "install", plans, list(plans), yes=False)[1] == ["/p", "/q"]
    with pytest.raises(Failure, match="a file was changed while you read"):
        changed(monkeypatch, "install", plans, [planned(after=b"else")], yes=False)


def test_where_nothing_would_change_nobody_is_asked() -> None:
    assert install._agreed([planned(changed=False)], "install", False) is True


def test_a_transcript_or_a_session_is_observed(tmp_path: Path) -> None:
    nothing = {"transcript": None, "session": None}
    for given in (nothing, {"transcript": "a", "session": "s"}):
        assert refused(observe._session, given) == "name either a transcript or a session"
    gone = str(tmp_path / "gone")
    assert refused(observe._session, {**nothing, "transcript": gone}) == f"{gone} is not there"
    assert refused(observe._session, {**nothing, "transcript": str(tmp_path)}) == f"{tmp_path} is a folder"
    assert observe._session({**nothing, "session": "s"})[1] == ""
    words = ["memory", "observe", "--json"]
    assert observe._words({"transcript": "a", "session": None, "command": ""}) == [*words, os.path.abspath("a")]
    asked = {"transcript": None, "session": "s", "command": "ask me"}
    assert observe._words(asked) == [*words, "--session=s", "--command=ask me"]


def test_what_an_observation_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    model: Any = object()
    monkeypatch.setattr(observe.background_process, "stop_in_time", lambda: True)
    monkeypatch.setattr(observe.model_command, "from_config", lambda *_: model)
    monkeypatch.setattr(observe.observation, "observe_in_background", lambda *_: None)
    options = {"transcript": None, "session": "s", "command": "", "detach": True}
    detached = observe.run(options)
    assert detached.result == {"session": "s", "detached": True}
    assert detached.next_actions[0]["command"] == "joelclaw otel search memory.observe --hours 1"
    for left, offered in ((0, "joelclaw memory recent"), (1, "joelclaw memory observe --session s")):
        result = {"left": {"turns": left}}

        def observed(*_: object, locked: bool, result: Any = result) -> Any:
            held.append(locked)
            return result

        monkeypatch.setattr(observe.observation, "observe", observed)
        answer = observe.run({**options, "detach": False})
        assert [one["command"] for one in answer.next_actions] == [offered]
    assert held == [False, False]
    monkeypatch.setattr(observe.model_command, "from_config", lambda *_: None)
    with pytest.raises(Failure):
        observe.run(options)


@pytest.mark.parametrize("preview", [True, False])
def test_what_another_tool_remembers(monkeypatch: pytest.MonkeyPatch, preview: bool) -> None:
    monkeypatch.setattr(bulk.sqlite, "open_reading", lambda: None)
    report = SimpleNamespace(items=1, left_out=[], to_result=lambda: {"items": 1})
    monkeypatch.setattr("memory.other_stores.taking_in.take_in", lambda *_, **__: report)
    answer = bulk._of_another_tool("a b.md", "claude", preview=preview)
    assert answer.result == {"file": "a b.md", "items": 1}
    offered = "joelclaw memory import 'a b.md' --format claude" if preview else "joelclaw memory list --source import"
    assert [one["command"] for one in answer.next_actions] == [offered]
    report.items = 0
    assert (
        refused(bulk._of_another_tool, "x", "claude", preview=preview) == "there is nothing in x to take in as claude"
    )
    report.left_out = [{"where": "x:3", "reason": "empty"}, {"where": "x:4", "reason": "long"}]
    assert refused(bulk._of_another_tool, "x", "claude", preview=preview).endswith("as claude: x:3: empty")
    assert refused(bulk._of_another_tool, "-", "claude", preview=preview) == "claude is read from a file"
