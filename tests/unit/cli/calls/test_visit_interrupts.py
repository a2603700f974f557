"""Ctrl+C once asks politely, twice leaves; whoever is asked to terminate leaves at once."""

import os
import signal
from collections.abc import Iterator

import anyio
import pytest

from mcp_progress_monitor.cli.calls.visit import Interrupts
from mcp_progress_monitor.cli.output.stdout import StandardOutput

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name == "nt", reason="os.kill ends the test run on Windows"),
]


@pytest.fixture
def ended() -> list[str]:
    return []


@pytest.fixture
def questions() -> list[bool]:
    """One for each interrupt that is for a question."""
    return []


@pytest.fixture
def interrupts(ended: list[str], questions: list[bool]) -> Interrupts:
    def end_all() -> None:
        ended.append("all")

    def divert() -> bool:
        return bool(questions) and questions.pop()

    return Interrupts(StandardOutput(None), end_all, divert)


@pytest.fixture
def ignored() -> Iterator[None]:
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, previous)


async def test_the_first_interrupt_is_polite_and_the_second_firm(
    interrupts: Interrupts, ended: list[str]
) -> None:
    with interrupts, anyio.fail_after(5):
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.polite.wait()
        assert not interrupts.firm.is_set()
        assert ended == []
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.firm.wait()
        await _until_ended(ended)


async def _until_ended(ended: list[str]) -> None:
    """The servers are ended once the loop knows of it, by a thread."""
    while not ended:  # noqa: ASYNC110  # a thread tells nobody
        await anyio.sleep(0.01)
    assert ended == ["all"]


async def test_a_request_to_terminate_is_firm_at_once(
    interrupts: Interrupts, ended: list[str]
) -> None:
    with interrupts, anyio.fail_after(5):
        os.kill(os.getpid(), signal.SIGTERM)
        await interrupts.firm.wait()
        assert interrupts.polite.is_set()
        await _until_ended(ended)


async def test_the_signals_are_given_back(interrupts: Interrupts) -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts:
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("ignored")
async def test_what_our_starter_ignores_stays_ignored(interrupts: Interrupts) -> None:
    with interrupts:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


async def test_an_interrupt_may_be_for_a_question_first(
    interrupts: Interrupts, ended: list[str], questions: list[bool]
) -> None:
    questions.append(True)
    with interrupts, anyio.fail_after(5):
        os.kill(os.getpid(), signal.SIGINT)
        while questions:  # noqa: ASYNC110  # a thread tells nobody
            await anyio.sleep(0.01)
        assert not interrupts.polite.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.polite.wait()
        questions.append(True)
        os.kill(os.getpid(), signal.SIGINT)
        await interrupts.firm.wait()
        await _until_ended(ended)


async def test_a_request_to_terminate_is_for_no_question(
    interrupts: Interrupts, questions: list[bool]
) -> None:
    questions.append(True)
    with interrupts, anyio.fail_after(5):
        os.kill(os.getpid(), signal.SIGTERM)
        await interrupts.firm.wait()
