"""A page is shown in full, and opened only when the user says so."""

import webbrowser

import pytest

from mcp_progress_monitor.cli.asking.prompts import visit_page
from mcp_progress_monitor.snapshots.questions import Accept, Answer, Decline, Dismiss
from tests.unit.cli.asking.questions import Talk, asked

pytestmark = pytest.mark.anyio


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser would show."""
    addresses: list[str] = []

    def note(url: str) -> bool:
        addresses.append(url)
        return "offline" not in url

    monkeypatch.setattr(webbrowser, "open", note)
    return addresses


@pytest.mark.parametrize(
    ("typed", "answer"), [("accept", Accept()), ("a", Accept()), ("d", Decline()), ("c", Dismiss())]
)
async def test_an_answer_opens_nothing(typed: str, answer: Answer, opened: list[str]) -> None:
    talk = Talk(typed)
    assert await visit_page(asked("url"), talk.dialogue) == answer
    assert opened == []
    assert "Host: example.com." in talk.shown
    assert "\n    https://example.com/in\n" in talk.shown


async def test_there_is_no_answer_by_default(opened: list[str]) -> None:
    talk = Talk("", "x", "o")
    assert await visit_page(asked("url"), talk.dialogue) == Accept()
    assert talk.shown.count("or its first letter") == 2
    assert opened == ["https://example.com/in"]


async def test_a_browser_that_does_not_start_is_reported(opened: list[str]) -> None:
    talk = Talk("o")
    url = "https://offline.example/"
    assert await visit_page(asked("url", url=url), talk.dialogue) == Accept()
    assert "Cannot start a browser" in talk.shown
    assert opened == [url]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://google.com@evil.example/a", "evil.example"),
        ("https://g\u043e\u043egle.com/", "xn--ggle-55da.com"),
        ("http://[::1]:80/", "::1"),
    ],
)
async def test_the_host_is_what_the_network_takes_it_for(
    url: str, host: str, opened: list[str]
) -> None:
    talk = Talk("a")
    await visit_page(asked("url", url=url), talk.dialogue)
    assert f"Host: {host}." in talk.shown
    assert "[open/" in talk.shown
    assert opened == []


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "nonsense", "http://[", "data:text,x"]
)
async def test_what_is_no_web_page_cannot_be_opened(url: str, opened: list[str]) -> None:
    talk = Talk("o", "d")
    assert await visit_page(asked("url", url=url), talk.dialogue) == Decline()
    assert "[accept/decline/cancel]" in talk.shown
    assert opened == []


async def test_no_part_of_an_address_is_hidden(opened: list[str]) -> None:
    url = f"https://example.com/{'a' * 9000}\x1b[2Kz"
    talk = Talk("d")
    await visit_page(asked("url", url=url), talk.dialogue)
    assert f"{'a' * 9000}\\x1b[2Kz" in talk.shown
