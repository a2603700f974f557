"""Answers of servers with odd heads and bodies, the same ones for the same seed."""

import random
from typing import NamedTuple

from tests.unit.tap_http.tapped import END, chunk, event, reply


class OddAnswer(NamedTuple):
    """The bytes of an answer, after which its server closes."""

    raw: bytes
    is_valid: bool
    """Whether clients can read it (RFC 9112); for any other, the tap may refuse."""
    is_reset: bool = False


_NAMES = [b"Server", b"X-Odd", b"Set-Cookie", b"Via", b"Link", b"ETag", b"WWW-Authenticate"]
_REASONS = [b"OK", b"", b"caf\xe9", "größer".encode(), b"a  b\tc", b"x" * 2000]
_BAD_NAMES = [b"X Y", b"X\xe9", b"", b"X\x00Y", b"X(Y)", b" X"]
_BAD_HEADS = [
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"HTTP/9 200 OK\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, odd\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000 + b"\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: odd\r\n\r\n\x01\x02",
    b"",
]
_BAD_CHUNKS = [b"zz\r\nab\r\n", b"-1\r\n", b"5\r\nab", b"\xff\r\n", b"2\r\nabc\r\n", b"f" * 40]


def odd_answer(seed: int) -> OddAnswer:
    """An answer to the request with the id 7."""
    rng = random.Random(seed)  # noqa: S311  # the same ones each time
    way = rng.choice(["head", "head", "body", "body", "stream", "early", "cut", "bad"])
    if way == "bad":
        return OddAnswer(_bad(rng), is_valid=False)
    body = _body(rng)
    if way == "stream":
        raw = _head(rng, 200, b"Content-Type: text/event-stream\r\n") + body
        return OddAnswer(raw, is_valid=True)
    status = rng.choice([200, 200, 201, 299, 400, 401, 404, 500, 599, 999])
    if way == "early":
        status = rng.choice([200, 204, 304])
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </caf\xe9>\r\n\r\n" * rng.randint(0, 3)
        if status != 200:  # a body after these is not one
            return OddAnswer(hints + _head(rng, status), is_valid=True)
        return OddAnswer(hints + _sized(rng, status, body), is_valid=True)
    whole = _sized(rng, status, body) if rng.random() < 0.5 else _chunked(rng, status, body)
    if way == "cut":
        place = rng.randrange(len(whole))
        return OddAnswer(whole[:place], is_valid=False, is_reset=rng.random() < 0.5)
    return OddAnswer(whole, is_valid=True)


def _head(rng: random.Random, status: int, more: bytes = b"") -> bytes:
    lines = b"HTTP/1.1 %d %b\r\n" % (status, rng.choice(_REASONS)) + more
    for _ in range(rng.choice([0, 1, 3, 3, 40])):
        value = bytes(rng.choice(_VALUES) for _ in range(rng.choice([0, 1, 9, 200])))
        lines += b"%b: a%bz\r\n" % (rng.choice(_NAMES), value)
    if rng.random() < 0.1:
        lines += b"X-Folded: a\r\n  b\xe9\r\n"
    if rng.random() < 0.1:
        lines += b"Content-Encoding: %b\r\n" % rng.choice([b"gzip", b"b\xe9", b"identity"])
    if rng.random() < 0.1:
        lines += b"Mcp-Session-Id: s\xff%d\r\n" % rng.randrange(5)
    return lines + b"\r\n"


_VALUES = [*range(0x20, 0x7F), 0x09, *range(0x80, 0x100)]


def _body(rng: random.Random) -> bytes:
    return rng.choice(
        [
            reply(7),
            b"",
            rng.randbytes(rng.choice([1, 100, 70_000])),
            b'{"jsonrpc":"2.0","id":7,"result":{"a":"\\ud83d"}}',
            b'{"jsonrpc":"2.0","id":7,"result":{"a":"\xff"}}',
            b'{"resource":"http://a/\\ud83d"}',
            b'{"jsonrpc":"2.0","id":1e999,"result":NaN}',
            b"[" * 5000,
            b"\xef\xbb\xbf" + event(reply(7), "1"),
            event(reply(7), "\ud83d".encode("utf-8", "surrogatepass").decode("latin-1")),
            b"id: \x00\nevent: \xff\nretry: 9" + b"9" * 50 + b"\ndata: \xfe\n\n" + event(reply(7)),
            b"event: endpoint\ndata: http://[\xff\n\n",
            b"\r\r\n\n:\n\ndata\n\r" + event(b"\xed\xa0\xbd"),
        ]
    )


def _kind(rng: random.Random) -> bytes:
    kinds = [b"application/json", b"text/event-stream", b"text/html; charset=\xff", b"\xe9", b""]
    return b"Content-Type: " + rng.choice(kinds) + b"\r\n"


def _sized(rng: random.Random, status: int, body: bytes) -> bytes:
    return _head(rng, status, _kind(rng) + b"Content-Length: %d\r\n" % len(body)) + body


def _chunked(rng: random.Random, status: int, body: bytes) -> bytes:
    raw = _head(rng, status, _kind(rng) + b"Transfer-Encoding: chunked\r\n")
    size = rng.choice([1, 7, 5000]) if len(body) < 1000 else 5000
    for begin in range(0, len(body), size):
        piece = chunk(body[begin : begin + size])
        raw += piece.replace(b"\r\n", b";odd=1\r\n", 1) if rng.random() < 0.2 else piece
    return raw + (b"0\r\nX-Trailer: caf\xe9\r\n\r\n" if rng.random() < 0.3 else END)


def _bad(rng: random.Random) -> bytes:
    match rng.randrange(3):
        case 0:
            return rng.choice(_BAD_HEADS)
        case 1:
            name = rng.choice(_BAD_NAMES)
            return b"HTTP/1.1 200 OK\r\n%b: a\r\nContent-Length: 0\r\n\r\n" % name
        case _:
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            return head + rng.choice(_BAD_CHUNKS)
