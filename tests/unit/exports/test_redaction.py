"""What is given away holds no secret, and is otherwise what it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.exports import redaction, secret_patterns
from mcp_progress_monitor.exports.redaction import REMOVED, Redaction
from mcp_progress_monitor.protocol.lenient_json import Elided
from tests.growth import is_linear

SECRET = "Zq7XvHunter2"
_NAMES = st.sampled_from(
    [
        "password",
        "Passwd",
        "dbPassword",
        "passphrase",
        "secret",
        "client_secret",
        "clientSecretValue",
        "apiKey",
        "api_key",
        "X-API-Key",
        "authorization",
        "Proxy-Authorization",
        "cookie",
        "Set-Cookie",
        "access_token",
        "refreshToken",
        "token",
        "bearer",
        "privateKey",
        "private-key",
        "credentials",
        "resumeToken",
        "nextResumeToken",
        "\u0070assword",
        "sessionId",
        "session_id",
        "Mcp-Session-Id",
        "X-Amz-Signature",
    ]
)
_PLAIN_NAMES = st.sampled_from(
    ["city", "n", "text", "progressToken", "id", "list", "properties", 'q"q']
)
_LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(REMOVED)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_PLAIN_NAMES, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def _planted(draw: st.DrawFn) -> Any:
    """A JSON value with the secret somewhere within, under a name that says so."""
    shape = st.sampled_from([SECRET, [SECRET], {"value": SECRET, "n": [1, {"x": SECRET}]}])
    value: Any = {draw(_NAMES): draw(shape), **draw(st.dictionaries(_PLAIN_NAMES, _TREES))}
    for _ in range(draw(st.integers(0, 3))):
        wrapping = draw(st.integers(0, 3))
        if wrapping == 0:
            value = [draw(_TREES), value, draw(_TREES)]
        elif wrapping == 1:
            value = {draw(_PLAIN_NAMES): value, "after": draw(_TREES)}
        else:
            value = {"text": json.dumps(value, ensure_ascii=wrapping == 2)}
    return value


@given(_planted(), st.booleans(), st.sampled_from([None, 1]))
def test_no_planted_secret_survives_in_json_and_json_it_stays(
    value: Any, is_ascii: bool, indent: int | None
) -> None:
    raw = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()
    clean = Redaction().raw(raw)

    assert SECRET.encode() not in clean
    json.loads(clean)
    assert Redaction().raw(clean) == clean
    assert SECRET not in json.dumps(Redaction().value(value))


@given(_TREES, st.sampled_from([None, 2]))
def test_json_without_secrets_keeps_its_exact_bytes(value: Any, indent: int | None) -> None:
    raw = json.dumps({"params": value}, indent=indent).encode()

    assert Redaction().raw(raw) == raw


@given(
    st.text(max_size=20),
    st.sampled_from(
        [
            "password={}",
            "password: {}",
            'api_key = "{}"',
            "API-KEY:{}",
            "Authorization: Bearer {}",
            "authorization: Basic {}",
            "Cookie: a=b; session={}",
            "https://user:{}@host/path",
            "GET /?access_token={}&x=1",
            "Bearer {}",
            "client_secret='{}'",
            '{{"password": "{}", "n": 1',
            "run --api-key {}",
            "curl -H 'X-Custom: {}' host",
            "docker run -e NAME={} image",
            "sk-{}",
            "sk-proj-{}",
            "eyJhbGciOi.{}.abc",
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        ]
    ),
    st.text(max_size=20),
)
def test_no_planted_secret_survives_in_texts(before: str, form: str, after: str) -> None:
    expected = f"{before} {form.format(SECRET)} {after}"
    clean = Redaction().text(expected)

    assert SECRET not in clean
    assert REMOVED in clean
    assert SECRET.encode() not in Redaction().raw(expected.encode())
    assert SECRET not in json.dumps(Redaction().value({"message": expected}))


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_bytes_of_any_kind_are_taken_and_lose_their_secret(before: bytes, after: bytes) -> None:
    raw = before.replace(b'"', b"").replace(b"\\", b"") + b" password=" + SECRET.encode() + b" "
    clean = Redaction().raw(raw + after)

    assert SECRET.encode() not in clean


@given(st.binary(max_size=200))
def test_with_secrets_all_stays_as_it_is(raw: bytes) -> None:
    redaction = Redaction(with_secrets=True)

    assert redaction.raw(raw) is raw
    assert redaction.raw(b'{"password":"x"}') == b'{"password":"x"}'
    assert redaction.text("password=x") == "password=x"
    assert redaction.value({"password": "x"}) == {"password": "x"}
    assert redaction.count == 0


@given(_planted())
def test_what_is_passed_over_in_haste_would_not_have_changed(value: Any) -> None:
    raw = json.dumps(value).encode()
    whole = redaction.SecretRemover(raw, secret_patterns.without_secrets).run()

    assert secret_patterns.may_have_secrets(raw) or whole == raw


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"progressToken":7,"max_tokens":5}', '{"progressToken":7,"max_tokens":5}'),
        ('{"password":null,"secret":true}', '{"password":null,"secret":true}'),
        ('{"pin":1234,"tokens":["a"]}', '{"pin":"(removed)","tokens":"(removed)"}'),
        (
            '{"password": "a", "password": "b"}',
            '{"password": "(removed)", "password": "(removed)"}',
        ),
        ('{"p\\u0061ssword":"x"}', '{"p\\u0061ssword":"(removed)"}'),
        ('{"env":["HOME","A=b"]}', '{"env":["HOME","A=(removed)"]}'),
        ('{"env":{"key":"b","N":5}}', '{"env":{"key":"(removed)","N":"(removed)"}}'),
        ('{"env":[{"name":"A","value":"b"}]}', '{"env":[{"name":"A","value":"(removed)"}]}'),
        ('{"headers":{"X-A":["b"]}}', '{"headers":{"X-A":"(removed)"}}'),
        ('{"headers":{"Accept":"b","X-A":"c"}}', '{"headers":{"Accept":"b","X-A":"(removed)"}}'),
        (
            '{"headers":[["Accept","b"],["X-A","c"],["odd one","d"]]}',
            '{"headers":[["Accept","b"],["X-A","(removed)"],["(removed)","(removed)"]]}',
        ),
        (
            '{"headers":[["Authorization","Bearer (hidden, 40 characters)"]]}',
            '{"headers":[["Authorization","Bearer (hidden, 40 characters)"]]}',
        ),
        (
            '{"headers":[{"name":"Host","value":"a"},{"name":"X-A","value":"b"}]}',
            '{"headers":[{"name":"Host","value":"a"},{"name":"X-A","value":"(removed)"}]}',
        ),
        ('{"env":[{"name":"HOST","value":"a"}]}', '{"env":[{"name":"HOST","value":"(removed)"}]}'),
        ('{"headers":["Authorization","X-Api-Key"]}', '{"headers":["Authorization","X-Api-Key"]}'),
        ('{"headers":["Accept: a/b","X-A: b"]}', '{"headers":["Accept: a/b","X-A: (removed)"]}'),
        (
            '{"headers":[["Location","https://a/b?token=c"]]}',
            '{"headers":[["Location","https://a/b?token=(removed)"]]}',
        ),
        (
            '{"url":"https://a.example/s/aB3dE5fG7hI9jK1lM3nO5/mcp?n=1"}',
            '{"url":"https://a.example/s/(removed)/mcp?n=1"}',
        ),
        ('{"url":"https://a/b?code=404"}', '{"url":"https://a/b?code=404"}'),
        ('{"url":"https://a/b?code=SplxlOBeZQQY"}', '{"url":"https://a/b?code=(removed)"}'),
        (
            '{"event":"http_body","text":"{\\"access_token\\":\\"b\\"}"}',
            '{"event":"http_body","text":"{\\"access_token\\":\\"(removed)\\"}"}',
        ),
        ('{"headers":["X-A: b","c"]}', '{"headers":["X-A: (removed)","(removed)"]}'),
        ('{"args":["-u","a.py","--n=3"]}', '{"args":["-u","a.py","--n=3"]}'),
        ('{"args":["--header","X: y"]}', '{"args":["--header","X: (removed)"]}'),
        ('{"args":["-e","A=b","-e","C"]}', '{"args":["-e","A=(removed)","-e","C"]}'),
        ('{"args":["--api-key","b","c"]}', '{"args":["--api-key","(removed)","c"]}'),
        ('{"args":["--api-key=b","T=c"]}', '{"args":["--api-key=(removed)","T=(removed)"]}'),
        (
            '{"properties":{"password":{"type":"string","default":"x"},"n":{"default":1}}}',
            '{"properties":{"password":{"type":"string","default":"(removed)"},"n":{"default":1}}}',
        ),
        (
            '{"properties":{"env":{"type":"object"},"token":["x"],"secret":"y"}}',
            '{"properties":{"env":{"type":"object"},"token":"(removed)","secret":"(removed)"}}',
        ),
        ('{"properties":{"properties":"x"}}', '{"properties":{"properties":"x"}}'),
        ('{"message":"the progress token: 7"}', '{"message":"the progress token: 7"}'),
        ('{"password":"cut o', '{"password":"(removed)"'),
        ('{"password":{"a":[1', '{"password":"(removed)"'),
    ],
)
def test_names_and_numbers_stay_and_values_go(before: str, after: str) -> None:
    assert Redaction().raw(before.encode()).decode() == after


_RANDOM = "a1B2c3D4e5F6g7H8"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("the password is hunter2. Bye", "the password is (removed) Bye"),
        ("Password was 'open sesame'", "Password was '(removed)'"),
        ("password: swordfish", "password: (removed)"),
        ("the password is required", None),
        ("password was incorrect", None),
        (f"https://a/b?n=1&sig={SECRET}&c=2", "https://a/b?n=1&sig=(removed)&c=2"),
        (f"https://a/b?X-Amz-Signature={SECRET}#x", "https://a/b?X-Amz-Signature=(removed)#x"),
        (f"https://a/b?X-Goog-Credential={SECRET}", "https://a/b?X-Goog-Credential=(removed)"),
        (f"https://a/b?token={SECRET}", "https://a/b?token=(removed)"),
        (f"https://a/b?progressToken={SECRET}&n=1", None),
        (f"Mcp-Session-Id: {SECRET}", "Mcp-Session-Id: (removed)"),
        (f"session_id={SECRET};n=1", "session_id=(removed);n=1"),
        (f"key: {_RANDOM}", "key: (removed)"),
        ("key: orders-2026-11-20-final-report", None),
        ("key=550e8400-e29b-41d4-a716-446655440000", None),
        (f"monkey: {_RANDOM}", None),
        (f'{{"key":"{_RANDOM}"}}', '{"key":"(removed)"}'),
        ('{"key":"orders-2026-11-20-final-report"}', None),
        (f'{{"progressToken":"{_RANDOM}"}}', None),
    ],
)
def test_secrets_in_prose_and_addresses_go_and_ordinary_words_stay(
    before: str, after: str | None
) -> None:
    cleaned = Redaction().text(before)
    assert cleaned == (before if after is None else after)
    assert Redaction().text(cleaned) == cleaned
    assert Redaction().raw(before.encode()).decode() == cleaned


def test_what_was_left_undecoded_becomes_words() -> None:
    assert Redaction().value([Elided(2_000_000)]) == ["(2.0 MB, not decoded; see the message)"]


def test_it_counts_what_had_secrets() -> None:
    redaction = Redaction()
    for raw in (b'{"password":"x"}', b'{"n":1}', b"token=abc"):
        redaction.raw(raw)

    assert redaction.count == 2


@pytest.mark.parametrize(
    "hostile",
    [b'password="', b'"', b'{"a":', b"\\", b"--", b"-----BEGIN PRIVATE KEY-----", b"a://", b"eyJa"],
)
def test_hostile_bytes_take_linear_time(hostile: bytes) -> None:
    def clean(size: int) -> None:
        raw = b"key" + hostile * (size // len(hostile))
        assert Redaction().raw(raw)
        assert Redaction().raw(b'{"a":"' + raw + b'"}')

    assert is_linear(clean, 60_000)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            rb'{"nextResumeToken":"abc","t":"cut \ud83d"}',
            rb'{"nextResumeToken":"(removed)","t":"cut \ud83d"}',
        ),
        (rb'{"t":"password=x \ud83d"}', rb'{"t":"password=(removed) \ud83d"}'),
        (b'{"t":"password=x \xff \\ud83d"}', b'{"t":"password=(removed) \xff \\ud83d"}'),
        (b"password=x \xff\xed\xa0\xbd", b"password=(removed) \xff\xed\xa0\xbd"),
        (
            rb'{"t":"{\"password\":\"x\",\"a\":\"\\ud83d\"}"}',
            rb'{"t":"{\"password\":\"(removed)\",\"a\":\"\\ud83d\"}"}',
        ),
        (
            rb'{"t":"{\"password\":\"x\",\"a\":\"\ud83d\"}"}',
            rb'{"t":"{\"password\":\"(removed)\",\"a\":\"\\ud83d\"}"}',
        ),
    ],
)
def test_half_surrogate_pairs_beside_secrets_stay_escapes(before: bytes, after: bytes) -> None:
    assert Redaction().raw(before) == after


def test_unpaired_surrogates_survive_in_text_and_values() -> None:
    assert Redaction().text("password=x \ud83d") == "password=(removed) \ud83d"
    value = {"password": "x", "text": "\ud83d", "nested": '{"secret":"x","a":"\ud83d"}'}
    assert Redaction().value(value) == {
        "password": "(removed)",
        "text": "\ud83d",
        "nested": r'{"secret":"(removed)","a":"\ud83d"}',
    }
