"""Tasks on Qt's loop: owned, reported, cancelled."""

import subprocess
import sys
import textwrap

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.aio import BackgroundTasks
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class _Reports:
    def __init__(self) -> None:
        self.errors: list[ErrorDetails] = []
        self.bugs: list[BaseException] = []

    def tasks(self) -> BackgroundTasks:
        return BackgroundTasks(self.errors.append, self.bugs.append)


async def _fail(error: Exception) -> None:
    raise error


async def test_an_error_in_a_task_is_reported_with_a_message_and_the_others_go_on() -> None:
    reported, done = _Reports(), anyio.Event()

    async def goes_on() -> None:
        done.set()

    async with reported.tasks() as tasks:
        tasks.start("fails", _fail, UserError(ErrorDetails("No such server")))
        tasks.start("goes on", goes_on)
        await done.wait()
        await anyio.lowlevel.checkpoint()
    assert reported.errors == [ErrorDetails("No such server")]
    assert reported.bugs == []


async def test_an_error_of_our_own_is_reported_apart_from_errors() -> None:
    reported, error = _Reports(), ValueError("ours")
    async with reported.tasks() as tasks:
        tasks.start("fails", _fail, error)
        with anyio.fail_after(PATIENCE_S):
            while not reported.bugs:  # the list is the very thing under test
                await anyio.lowlevel.checkpoint()
    assert reported.bugs == [error]
    assert reported.errors == []


async def test_leaving_cancels_what_still_runs_and_waits_for_it() -> None:
    reported, ended, started = _Reports(), [], anyio.Event()

    async def runs_for_ever() -> None:
        try:
            started.set()
            await anyio.Event().wait()  # Qt's loop has no timer for an infinite time
        finally:
            ended.append(True)

    async with reported.tasks() as tasks:
        tasks.start("for ever", runs_for_ever)
        await started.wait()
    assert ended == [True]


async def test_of_many_tasks_a_few_start_in_a_turn_and_each_error_is_reported() -> None:
    reported, started = _Reports(), []

    async def start(number: int) -> None:
        started.append(number)
        if number % 50 == 0:
            raise UserError(ErrorDetails(f"No such job {number}"))

    async with reported.tasks() as tasks:
        tasks.start_each("start", start, range(1, 101))
        await anyio.lowlevel.checkpoint()
        assert 0 < len(started) < 50
        with anyio.fail_after(PATIENCE_S):
            while len(reported.errors) < 2:  # the list is the very thing under test
                await anyio.lowlevel.checkpoint()
    assert started == [*range(1, 101)]
    assert [each.what for each in reported.errors] == ["No such job 50", "No such job 100"]


async def test_a_task_after_the_end_is_not_started() -> None:
    reported = _Reports()
    async with reported.tasks() as tasks:
        pass
    tasks.start("late", _fail, ValueError("never raised"))
    assert reported.bugs == []


def test_the_loop_runs_processes_and_returns_what_main_returns() -> None:
    script = """
        import sys, anyio
        from PySide6.QtWidgets import QApplication, QLabel
        from mcp_progress_monitor.gui.aio import run_on_qt

        async def main():
            label = QLabel("shown")
            label.show()
            done = await anyio.run_process([sys.executable, "-c", "print('hello')"])
            label.close()  # closing the last window must not end the loop under us
            await anyio.sleep(0.01)
            return len(done.stdout.split())

        sys.exit(run_on_qt(QApplication(sys.argv), main) + 41)
    """
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(script)],
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (42, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="no thread waits for a process there")
def test_no_thread_is_left_within_qt_when_the_interpreter_ends() -> None:
    # Such a thread aborted the process at its end, in every twentieth short run.
    script = """
        import sys, threading, time, anyio, qasync
        from PySide6.QtWidgets import QApplication
        from mcp_progress_monitor.gui.aio import run_on_qt

        tell = qasync.QEventLoop.call_soon_threadsafe

        def tell_slowly(loop, callback, *args, **options):
            tell(loop, callback, *args, **options)
            if threading.current_thread() is not threading.main_thread():
                time.sleep(0.2)  # as if the machine were busy: main goes on meanwhile

        qasync.QEventLoop.call_soon_threadsafe = tell_slowly

        async def main():
            await anyio.run_process([sys.executable, "-c", ""])
            return 0

        code = run_on_qt(QApplication(sys.argv), main)
        print([thread.name for thread in threading.enumerate()])
        sys.exit(code)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"['MainThread']"), done.stderr


def test_setting_a_label_twenty_thousand_times_leaves_the_process_alive() -> None:
    # PySide6 6.12.0 on Python 3.11 loses a reference to None on each such call and dies.
    script = """
        from PySide6.QtWidgets import QApplication, QLabel

        application = QApplication([])
        label = QLabel()
        for number in range(20_000):
            label.setText(str(number))
        print(label.text())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"19999"), done.stderr
