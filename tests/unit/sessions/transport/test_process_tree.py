"""A process's family: found while parents live, and never a stranger with the same number."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from mcp_progress_monitor.sessions.transport import process_tree, watchdog
from mcp_progress_monitor.sessions.transport.process_tree import ProcessTree

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc"),
]


@pytest.fixture(params=[True, False], ids=["own table", "psutil"], autouse=True)
def _table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test with the table that is read from /proc, and with psutil's."""
    monkeypatch.setattr(watchdog, "_HAS_PROC", request.param)


_SLEEP = "import time; time.sleep(600)"
_PARENT = (
    "import subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-c', {_SLEEP!r}], start_new_session=True)\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads its group and has a child that left it."""
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


async def test_a_stray_is_known_once_it_was_looked_up_and_ended_after_its_parent(
    parent: subprocess.Popen[bytes],
) -> None:
    of = ProcessTree(parent.pid)
    assert not of.has_strays()
    await of.look_up()
    parent.kill()
    parent.wait()
    assert of.has_strays()
    of.kill()
    while of.has_strays():  # it is gone as soon as the system has come round to it
        pass


async def test_another_process_with_a_known_number_is_not_touched(
    parent: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = ProcessTree(parent.pid)
    await of.look_up()
    real = process_tree.entry_of  # the account of the system is what is falsified

    def restarted(pid: int) -> watchdog.ProcessEntry | None:
        entry = real(pid)
        return None if entry is None else entry._replace(started=entry.started + 1)

    with monkeypatch.context() as patch:
        patch.setattr(process_tree, "entry_of", restarted)
        assert not of.has_strays()
        of.kill()
    assert of.has_strays()
    of.kill()


async def test_a_process_that_is_gone_has_no_family() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])  # noqa: ASYNC220  # for a moment
    process.wait()
    of = ProcessTree(process.pid)
    await of.look_up()
    assert not of.has_strays()
