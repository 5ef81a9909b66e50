"""One request to the nodes of a cluster and its answer, over sockets of this process: bytes out, bytes in,
who is next."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from typesense.exceptions import TypesenseClientError

from core.errors import Failure
from core.store.typesense import cluster as clusters
from core.store.typesense import connection, transport
from core.store.typesense.cluster import Cluster
from core.store.typesense.connection import Nodes
from core.store.typesense.transport import NoAnswerError, Transport

OK = b"HTTP/1.1 200 OK\r\n"


class Net:
    """What each node sends by each connection, in turn; what it was sent."""

    def __init__(self) -> None:
        self.answers: dict[str, list[bytes | OSError]] = {}
        self.ends: list[tuple[str, socket.socket]] = []
        self.shares: list[float] = []
        self.now = 0.0
        self.open = False

    def connect(self, node: Any, seconds: float) -> socket.socket:
        self.shares.append(seconds)
        given = self.answers[node.host].pop(0)
        if isinstance(given, OSError):
            self.now += getattr(given, "took", 0.0)
            raise given
        ours, theirs = socket.socketpair()
        theirs.sendall(given)
        if not self.open:
            theirs.shutdown(socket.SHUT_WR)
        self.ends.append((node.host, theirs))
        return ours

    def sent(self, number: int = 0) -> bytes:
        return self.ends[number][1].recv(65_536)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    made = Net()
    monkeypatch.setattr(transport, "_connect", made.connect)
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: made.now))
    yield made
    for _, end in made.ends:
        end.close()


def asking(net: Net, *answers: bytes | OSError, limit_s: float = 9, **more: list[bytes | OSError]) -> Transport:
    net.answers = {"a": list(answers), **more}
    return Transport(Nodes(",".join(f"http://{host}:1/x" for host in net.answers)), "k", limit_s)


def taking(seconds: float, error: OSError) -> OSError:
    error.took = seconds  # type: ignore[attr-defined]
    return error


def length(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def test_a_request_says_no_more_than_it_must(net: Net) -> None:
    given = asking(net, length(b"{}"))
    assert given.request("POST", "/y?z", b"body") == (200, b"{}")
    assert net.sent() == (
        b"POST /x/y?z HTTP/1.1\r\nHost: a:1\r\nX-TYPESENSE-API-KEY: k\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4\r\n\r\nbody"
    )


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (length(b"abc"), 200, b"abc"), (length(b"", 204), 204, b""), (OK + b"\r\nabc", 200, b"abc"),
        (OK + b"transfer-ENCODING: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", 200, b"abc0123456789"),
        (b"HTTP/1.0 404 \r\nX: y\r\nContent-Length:  2 \r\n\r\nab", 404, b"ab"), (length(b"ab") + b"more", 200, b"ab"),
        (b"HTTP/1.1 499\r\nContent-Length: 0\r\n\r\n", 499, b""), (OK + b"Content-Length: 0\r\n\r\n", 200, b""),
    ],
)  # fmt: skip
def test_an_answer_is_read_whichever_way_its_length_is_told(net: Net, answer: bytes, status: int, body: bytes) -> None:
    assert asking(net, answer).request("GET", "/") == (status, body)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"HTTP/1.1 200", b"SSH-2.0 200\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        OK + b"Content-Length: 3\r\n\r\nab", OK + b"Content-Length: x\r\n\r\nab",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab", OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\nabc\r\n0\r\n\r\n",
    ],
)  # fmt: skip
def test_half_an_answer_is_none(net: Net, answer: bytes) -> None:
    with pytest.raises(NoAnswerError, match=r"^a:1: "):
        asking(net, answer).request("GET", "/")


def test_an_endless_head_is_given_up(net: Net) -> None:
    net.open = True
    bounded = b"X: " + b"y" * 65_000 + b"\r\n"
    assert asking(net, OK + bounded + b"Content-Length: 0\r\n\r\n").request("GET", "/") == (200, b"")
    link, their = socket.socketpair()
    given = transport._Connection(link)
    given.until = 9.0
    for rest, fine in ((65_536, True), (65_537, False)):
        given._buffer = b"y" * rest
        their.sendall(b"z\r\n")
        if fine:
            assert given._line() == b"y" * rest + b"z"
        else:
            with pytest.raises(transport._NotHTTPError):
                given._line()
    link.close()
    their.close()


def test_a_connection_is_kept_unless_the_node_closes_it(net: Net) -> None:
    net.open = True
    given = asking(net, length(b"1") + length(b"2"), length(b"3"))
    assert [given.request("GET", "/")[1], given.request("GET", "/")[1]] == [b"1", b"2"] and len(net.ends) == 1
    net.ends[0][1].close()
    assert given.request("GET", "/") == (200, b"3") and len(net.ends) == 2
    given.close()
    assert net.sent(1) and net.sent(1) == b"" and given._kept == {}


@pytest.mark.parametrize("head", [b"Connection: Close\r\nContent-Length: 1\r\n", b""])
def test_a_connection_that_ends_with_its_answer_is_not_used_again(net: Net, head: bytes) -> None:
    given = asking(net, OK + head + b"\r\n1", length(b"2"))
    assert [given.request("GET", "/")[1], given.request("GET", "/")[1]] == [b"1", b"2"] and len(net.ends) == 2


def test_the_next_request_begins_with_the_node_that_answered(net: Net) -> None:
    given = asking(net, OSError("refused"), b=[length(b"1"), length(b"2")])
    assert given.request("GET", "/") == (200, b"1")
    assert [node.host for node in given._nodes] == ["b", "a"]
    net.ends[0][1].close()
    assert given.request("GET", "/") == (200, b"2")


def test_a_node_that_fails_is_the_last_word_only_where_no_other_answers(net: Net) -> None:
    for first, second, answer in (
        (length(b"no", 500), length(b"yes"), (200, b"yes")), (length(b"no", 503), length(b"yes"), (200, b"yes")),
        (length(b"no", 499), length(b"yes"), (499, b"no")),
        (length(b"one", 500), length(b"two", 503), (503, b"two")), (length(b"one", 500), OSError("x"), (500, b"one")),
    ):  # fmt: skip
        assert asking(net, first, b=[second]).request("GET", "/") == answer


def test_silent_nodes_share_the_time(net: Net) -> None:
    given = asking(net, taking(3, TimeoutError()), b=[taking(2, OSError("refused"))], c=[length(b"1")])
    assert given.request("GET", "/") == (200, b"1") and net.shares == [3.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("took", "reason"), [(8.9, "b:1: refused"), (9.0, "no answer in time"), (12.0, "no answer in time")]
)
def test_what_is_told_when_no_node_answers(net: Net, took: float, reason: str) -> None:
    given = asking(net, OSError("first"), b=[taking(took, OSError("refused"))])
    with pytest.raises(NoAnswerError) as caught:
        given.request("GET", "/")
    assert str(caught.value) == reason


def test_a_node_that_took_too_long_is_named_while_time_is_left(net: Net) -> None:
    with pytest.raises(NoAnswerError, match=r"^a:1 took too long$"):
        asking(net, taking(3, TimeoutError())).request("GET", "/")
    over = asking(net, taking(9, TimeoutError()), b=[length(b"never asked")])
    with pytest.raises(NoAnswerError, match=r"^no answer in time$"):
        over.request("GET", "/")
    assert len(net.answers["b"]) == 1


@pytest.mark.parametrize(("now", "left"), [(0.0, 2.0), (1.5, 0.5), (2.0, None), (3.0, None)])
def test_what_is_left_of_the_time(net: Net, now: float, left: float | None) -> None:
    net.now = now
    if left is not None:
        assert transport._left(2.0) == left
        return
    with pytest.raises(TimeoutError):
        transport._left(2.0)


def test_an_answer_is_streamed_as_it_comes(net: Net) -> None:
    chunks = b"Transfer-Encoding: chunked\r\n\r\n"
    status, pieces = asking(net, OK + chunks + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").stream("GET", "/")
    assert (status, b"".join(pieces)) == (200, b"abcde")
    _, cut = asking(net, OK + chunks + b"3\r\nabc\r\n2\r\nd").stream("GET", "/")
    assert next(cut) == b"abc" and next(cut) == b"d"
    with pytest.raises(NoAnswerError, match="the connection was closed"):
        next(cut)
    given = asking(net, OK + chunks + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    _, left = given.stream("GET", "/")
    assert next(left) == b"abc" and given._kept == {}
    left.close()  # type: ignore[attr-defined]


class Official:
    """In the place of the official client: what is looked up is a path, and what is called answers."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.called: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, name: str) -> Official:
        self.called.append(name)
        return self

    def __call__(self, *given: Any) -> Any:
        self.called.append(given)
        return self.answer()


def raising(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def opened(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Any] = dict) -> tuple[Cluster, Official, Any]:
    settings: list[Any] = []
    monkeypatch.setattr(clusters.typesense, "Client", lambda given: settings.append(given) or official)  # type: ignore[func-returns-value]
    official = Official(answer)
    made = Cluster(Nodes("http://a:1,http://b:2"), "k", prefix="p_", limit_s=8)
    return made, official, settings[0]


def test_the_official_client_gets_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given, official, settings = opened(monkeypatch)
    assert (settings["connection_timeout_seconds"], settings["num_retries"]) == (4.0, 1)
    assert settings["retry_interval_seconds"] == 0 and settings["nodes"] == ["http://a:1", "http://b:2"]
    given.create({"name": "c", "fields": []})
    assert official.called == [({"name": "p_c", "fields": []},)]
    given.add_fields("c", ({"name": "f"},))
    assert official.called[1:] == ["p_c", ({"fields": [{"name": "f"}]},)]
    assert given.name("c") == "p_c"


def test_a_cluster_is_connected_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPESENSE_API_KEY", "k")
    monkeypatch.setenv("TYPESENSE_URL", "http://a:1")
    monkeypatch.delenv("JOELCLAW_STORE_URLS", raising=False)
    settings: list[Any] = []
    official = Official(dict)
    monkeypatch.setattr(clusters.typesense, "Client", lambda given: settings.append(given) or official)  # type: ignore[func-returns-value]
    config: Any = SimpleNamespace(text=lambda name: {"store.key_command": "", "store.prefix": "p_"}[name])
    given = clusters.connect(config, limit_s=8)
    assert (given.prefix, settings[0]["api_key"], settings[0]["connection_timeout_seconds"]) == ("p_", "k", 8.0)
    assert given._transport.limit_s == 8
    given.close()
    assert official.called == [()]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (TypesenseClientError(401, "no"), connection.UNAUTHORIZED, "refuses the key"),
        (TypesenseClientError("no words"), connection.UNREACHABLE, "no words"),
        (TypesenseClientError(), connection.UNREACHABLE, "status 0"),
        (TypesenseClientError(422, "full"), connection.REFUSED, "(422): full"),
        (httpx.ConnectError("refused"), connection.UNREACHABLE, "refused"),
        (httpx.ReadTimeout(""), connection.UNREACHABLE, "ReadTimeout"),
        (ValueError("x"), connection.UNREACHABLE, "no Typesense"),
    ],
)  # fmt: skip
def test_what_the_faults_of_the_official_client_are_called(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, said: str
) -> None:
    given = opened(monkeypatch, raising(error))[0]
    with pytest.raises(Failure) as caught:
        given.collections()
    assert caught.value.code == code and said in caught.value.message


def test_a_search_by_the_official_client(monkeypatch: pytest.MonkeyPatch) -> None:
    given, official, _ = opened(monkeypatch, lambda: {"results": [{"found": 1}]})
    assert given.search("c", {"q": "*"}) == {"found": 1}
    assert official.called == [({"searches": [{"q": "*", "collection": "p_c"}]}, {})]
    official.answer = lambda: {"results": [{"error": "none", "code": 404}]}
    with pytest.raises(Failure) as caught:
        given.search("c", {})
    assert caught.value.code == connection.NOT_INITIALISED
    official.answer = lambda: {"results": [{"error": "none"}]}
    with pytest.raises(Failure) as caught:
        given.search("c", {})
    assert caught.value.code == connection.REFUSED


def test_a_document_that_is_not_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    given, official, _ = opened(monkeypatch, lambda: {"id": "a/b"})
    assert given.retrieve("c", "a/b") == {"id": "a/b"} and official.called == ["p_c", "a%2Fb", ()]
    official.answer = raising(TypesenseClientError(404, "Could not find a document with id: a"))
    assert given.retrieve("c", "a") is None
    official.answer = raising(TypesenseClientError(404, "Not Found"))
    with pytest.raises(Failure):
        given.retrieve("c", "a")


def test_each_document_that_is_written_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = '{"success": true, "document": "x\u2028y"}\n\n{"success": false, "error": "e"}\n'
    given, official, _ = opened(monkeypatch, lambda: lines)
    assert given.import_("c", []) == [] and official.called == []
    assert given.import_("c", [{"id": "a"}, {"id": "b"}]) == [{"success": True}, {"success": False, "error": "e"}]
    options = {"action": "upsert", "dirty_values": "coerce_or_reject", "batch_size": 200}
    assert official.called == ["p_c", ('{"id": "a"}\n{"id": "b"}', options)]
    for rows in ([{"id": "a"}], [{"id": "a"}] * 3):
        with pytest.raises(Failure) as caught:
            given.import_("c", rows)
        assert (
            caught.value.code == connection.UNREACHABLE and f"{len(rows)} documents were sent" in caught.value.message
        )


class Stream:
    """In the place of the transport."""

    def __init__(self, status: int, *pieces: bytes) -> None:
        self.status, self.pieces = status, pieces
        self.paths: list[str] = []

    def stream(self, method: str, path: str) -> tuple[int, Iterator[bytes]]:
        self.paths.append(f"{method} {path}")
        if not self.status:
            raise NoAnswerError("nobody")
        return self.status, iter(self.pieces)


def test_a_collection_is_exported_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    given = opened(monkeypatch)[0]
    stream = Stream(200, b'{"n": 1}\n{"n"', b": 2}\n", b' \n{"n": 3}')
    given._transport = stream  # type: ignore[assignment]
    assert [one["n"] for one in given.export("c", include="id,n", exclude="x")] == [1, 2, 3]
    assert len(list(given.export("c", exclude="x,y"))) == 3
    assert stream.paths == [
        "GET /collections/p_c/documents/export?include_fields=id%2Cn",
        "GET /collections/p_c/documents/export?exclude_fields=x%2Cy",
    ]
    given._transport = Stream(200, b'{"n": 1}\n \n')  # type: ignore[assignment]
    assert list(given.export("c")) == [{"n": 1}]
    for status, code in ((404, connection.NOT_INITIALISED), (201, connection.REFUSED), (0, connection.UNREACHABLE)):
        given._transport = Stream(status, b"said ", b"so")  # type: ignore[assignment]
        with pytest.raises(Failure) as caught:
            list(given.export("c"))
        assert caught.value.code == code and ("said so" in caught.value.message) is bool(status)
