"""Which addresses a tap takes, and which URLs lead back through it: streams stay as they are."""

import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.tap_http.addresses import (
    EndpointRewriter,
    ListenAddress,
    TapAddresses,
    read_listen,
)


def addresses(to: str = "https://mcp.example.com/v1/mcp") -> TapAddresses:
    made = TapAddresses(to)
    made.listening = ListenAddress("127.0.0.1", 8123)
    return made


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("127.0.0.1:8123", ("127.0.0.1", 8123)),
        ("localhost:0", ("127.0.0.1", 0)),
        (":8123", ("127.0.0.1", 8123)),
        ("8123", ("127.0.0.1", 8123)),
        ("[::1]:8123", ("::1", 8123)),
        ("127.0.0.2:1", ("127.0.0.2", 1)),
    ],
)
def test_addresses_of_this_machine_are_read(text: str, read: tuple[str, int]) -> None:
    assert read_listen(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0:1",
        "[::]:1",
        "example.com:1",
        "127.0.0.1",
        "127.0.0.1:65536",
        ":x",
        "",
        "\u0661:\u0662",
    ],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        read_listen(text)


def test_ipv6_is_written_in_brackets() -> None:
    made = addresses()
    made.listening = ListenAddress("::1", 8123)
    assert made.own == "http://[::1]:8123/v1/mcp"


@pytest.mark.parametrize(
    ("url", "led"),
    [
        ("https://mcp.example.com/a?b=c#d", "http://127.0.0.1:8123/a?b=c#d"),
        ("https://mcp.example.com:443/a", "http://127.0.0.1:8123/a"),
        ("HTTPS://MCP.example.com", "http://127.0.0.1:8123/"),
        ("http://mcp.example.com/a", "http://mcp.example.com/a"),
        ("https://mcp.example.com:8443/a", "https://mcp.example.com:8443/a"),
        ("https://example.com/a", "https://example.com/a"),
        ("//mcp.example.com/a", "//mcp.example.com/a"),
        ("/a", "/a"),
        ("", ""),
        ("https://[", "https://["),
    ],
)
def test_only_urls_of_the_servers_origin_lead_back(url: str, led: str) -> None:
    assert addresses().rewritten(url) == led


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        (b"/v1/mcp", b"/v1/mcp?key=k"),
        (b"/v1/mcp?mine=1", b"/v1/mcp?mine=1"),
        (b"/other%20path", b"/other%20path"),
        (b"http://127.0.0.1:8123/v1/mcp?x", b"/v1/mcp?x"),
    ],
)
def test_paths_pass_as_they_are(asked: bytes, target: bytes) -> None:
    assert addresses("https://mcp.example.com/v1/mcp?key=k").target(asked) == target


STREAMS = [
    b"event: endpoint\ndata: https://mcp.example.com/m?s=1\n\nevent: message\ndata: {}\n\n",
    b": ping\n\n\n\nevent: endpoint\r\ndata:https://mcp.example.com/m\r\n\r\n: x\r\n\r\n",
    b"\xef\xbb\xbfevent:endpoint\rdata: https://mcp.example.com/m\r\rdata: 1\r\r",
    b"id: 1\ndata: https://mcp.example.com/m\n\nevent: endpoint\ndata: https://mcp.example.com/m\n\n",
    b"event: endpoint\ndata: /m?s=1\n\n",
    b"event: endpoint\ndata: https://mcp.example.com/m",
    b"data: " + b"x" * 100_000 + b"\n\n",
    b"",
]


def rewritten(pieces: list[bytes]) -> bytes:
    rewriter = EndpointRewriter(addresses())
    return b"".join([*map(rewriter.pass_on, pieces), rewriter.rest()])


@pytest.mark.parametrize("stream", STREAMS)
@hypothesis.given(cuts=st.lists(st.integers(0, 120), max_size=8))
@hypothesis.settings(max_examples=20)
def test_a_stream_is_the_same_however_it_comes(stream: bytes, cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(stream)]
    pieces = [stream[begin:end] for begin, end in itertools.pairwise(ends)]
    assert rewritten(pieces) == rewritten([stream])


def test_only_the_first_event_is_changed_and_only_its_origin() -> None:
    changed = [rewritten([stream]) != stream for stream in STREAMS]
    assert changed == [True, True, True, False, False, False, False, False]
    assert rewritten([STREAMS[0]]) == STREAMS[0].replace(
        b"https://mcp.example.com", b"http://127.0.0.1:8123"
    )


@hypothesis.given(st.lists(st.binary(max_size=30), max_size=8))
def test_any_bytes_pass(pieces: list[bytes]) -> None:
    assert rewritten(pieces) == b"".join(pieces)
