"""End-to-end tests: real clients, a scripted model. Only `make e2e` runs them: they need npm, and take minutes."""

from collections.abc import Iterator

import pytest

from .session import CLIENTS, Case, Session, Sessions


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--agent", choices=[*CLIENTS, "all"], default="pi", help="the client under test")


def chosen(config: pytest.Config) -> list[str]:
    agent = config.getoption("--agent")
    return list(CLIENTS) if agent == "all" else [agent]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise `agent` with the clients of a test's mark that are under test, or `case` with their cases."""
    if "agent" in metafunc.fixturenames:
        (mark,) = metafunc.definition.iter_markers("agents")
        metafunc.parametrize("agent", [agent for agent in mark.args if agent in chosen(metafunc.config)])
    if "case" not in metafunc.fixturenames:
        return
    (mark,) = metafunc.definition.iter_markers("cases")
    cases = [case for client in chosen(metafunc.config) for case in mark.kwargs["of"](client)]
    metafunc.parametrize("case", cases, ids=str)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "agents(*names): the clients that a test is about")
    config.addinivalue_line("markers", "cases(of): function from a client's name to the sessions of a test")


@pytest.fixture(scope="session")
def sessions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """Play the sessions of this run, two at a time."""
    played = Sessions(tmp_path_factory.mktemp("sessions"))
    cases = [item.callspec.params.get("case") for item in request.session.items if hasattr(item, "callspec")]
    expected: list[Case] = []
    for case in cases:
        if isinstance(case, Case):
            expected += [case.without_hooks(), case] if case.fault else [case]
    played.begin(list(dict.fromkeys(expected)))
    yield played
    played.close()


@pytest.fixture
def session(case: Case, sessions: Sessions) -> Session:
    """The session of a case, played to its end."""
    return sessions.of(case)


@pytest.fixture
def undisturbed(case: Case, sessions: Sessions) -> Session:
    """The same session without our hooks."""
    return sessions.of(case.without_hooks())
