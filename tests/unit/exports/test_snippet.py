"""A call as a program: valid Python, without secrets, and only where it can be."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.snippet import snippet
from mcp_progress_monitor.formatting import visible
from tests.unit.exports.sessions import Session


def _assigned(code: str) -> dict[str, Any]:
    """The values that the program gives to names, where they are literals."""
    found = {}
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
            except ValueError:
                found[statement.targets[0].id] = ast.unparse(statement.value)
    return found


def _copied(session: Session, number: int, *, with_secrets: bool = False) -> str:
    return snippet(session, number, Redaction(with_secrets=with_secrets))


def test_a_call_is_repeated_with_its_arguments_its_server_and_progress() -> None:
    session = Session()
    session.opened(command="npx", args=["-y", "server"], cwd="/srv")
    request = session.called("export", region="eu", n=3, deep={"x": [None, True]})
    code = _copied(session, request)
    values = _assigned(code)

    assert values["arguments"] == {"region": "eu", "n": 3, "deep": {"x": [None, True]}}
    assert values["server"] == (
        "StdioServerParameters(command='npx', args=['-y', 'server'], cwd='/srv')"
    )
    assert "await client.call_tool('export', arguments, progress_callback=on_progress)" in code


def test_the_reply_and_the_ticks_of_a_call_stand_for_it() -> None:
    session = Session()
    request = session.called("export")
    session.ticked(1)
    session.answered({})

    codes = {_copied(session, number) for number in (request, request + 1, request + 2)}
    assert len(codes) == 1


def test_reads_and_prompts_are_repeated_as_such() -> None:
    session = Session()
    read = session.asked("resources/read", {"uri": "demo://a"}, 1)
    got = session.asked("prompts/get", {"name": "greet", "arguments": {"who": "Ann"}}, 2)

    assert "await client.read_resource('demo://a')" in _copied(session, read)
    assert "await client.get_prompt('greet', arguments)" in _copied(session, got)


def test_environment_values_are_taken_from_the_environment() -> None:
    session = Session()
    session.opened(env=["API_KEY", "HOME"])
    code = _copied(session, session.called("export"), with_secrets=True)

    assert "names = ['API_KEY', 'HOME']" in code
    assert "os.environ[name]" in code
    assert "import os\n" in code


def test_without_a_known_command_there_is_a_placeholder() -> None:
    session = Session()

    assert "put it here" in _copied(session, session.called("export"))


def test_secrets_and_resume_tokens_stay_away() -> None:
    session = Session()
    session.opened(args=["--api-key", "hunter2"])
    request = session.asked(
        "tools/call",
        {"name": "a", "arguments": {"password": "hunter2"}, "_meta": {"resumeToken": "hunter2"}},
    )
    code = _copied(session, request)

    assert "hunter2" not in code
    assert "Secrets were redacted" in code
    assert "starts from the beginning" in code
    assert "{'password': 'hunter2'}" in _copied(session, request, with_secrets=True)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text(), st.dictionaries(st.text(), _JSON, max_size=4), st.lists(st.text(), max_size=3))
def test_whatever_was_called_the_program_is_python_and_says_the_same(
    name: str, arguments: dict[str, Any], args: list[str]
) -> None:
    session = Session()
    session.opened(args=args)
    request = session.asked("tools/call", {"name": name, "arguments": arguments})
    code = _copied(session, request, with_secrets=True)

    assert _assigned(code)["arguments"] == arguments
    assert visible(code, keep_line_ends=True) == code


def test_what_is_no_call_is_refused_with_a_message() -> None:
    session = Session()
    session.printed("hello")
    ping = session.asked("ping", {}, 9)
    session.heard({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    for number in (1, ping, ping + 1, 99):
        with pytest.raises(UserError) as caught:
            _copied(session, number)
        assert f"message {number}" in caught.value.details.where


def test_a_request_of_many_megabytes_is_refused() -> None:
    session = Session()
    request = session.called("export", text="x" * 5_000_000)

    with pytest.raises(UserError, match="too large"):
        _copied(session, request)


def test_a_server_by_url_is_reached_by_it() -> None:
    session = Session()
    session.opened(url="https://a.example/mcp", transport="http", headers=[], command=None)
    code = _copied(session, session.called("export"))

    assert _assigned(code)["server"] == "https://a.example/mcp"
    assert "StdioServerParameters" not in code
    assert "mcp-progress-monitor tools --url https://a.example/mcp\n" in code


def test_headers_of_a_server_by_url_are_taken_from_the_environment() -> None:
    session = Session()
    session.opened(
        url="https://a.example/s/aB3dE5fG7hI9jK1lM3nO5/mcp?api_key=abc",
        transport="http",
        headers=["Authorization", "X-Team"],
        command=None,
    )
    code = _copied(session, session.called("export"))
    values = _assigned(code)

    assert values["url"] == "https://a.example/s/(removed)/mcp?api_key=(removed)"
    assert "'X-Team': os.environ['HEADER_X_TEAM']" in values["headers"]
    assert values["server"] == "streamable_http_client(url, http_client=http_client)"
    assert "--header 'Authorization: ${env:HEADER_AUTHORIZATION}'" in code
    assert "abc" not in code


def test_a_sign_in_and_the_older_transport_are_repeated() -> None:
    session = Session()
    session.opened(url="https://a/sse", transport="sse", headers=[], auth="oauth", command=None)
    values = _assigned(_copied(session, session.called("export")))

    assert values["headers"] == "{'Authorization': os.environ['HEADER_AUTHORIZATION']}"
    assert values["server"] == "sse_client(url, headers=headers)"


@given(st.text(), st.lists(st.text()))
def test_whatever_address_and_headers_there_are_the_program_is_python(
    url: str, headers: list[str]
) -> None:
    session = Session()
    session.opened(url=url, transport="http", headers=headers, command=None)
    ast.parse(_copied(session, session.called("export")))
