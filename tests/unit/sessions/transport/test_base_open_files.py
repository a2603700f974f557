"""The limit of open files is raised as far as needed and allowed, and reported when it is met."""

import errno
import subprocess
import sys

import pytest

from mcp_progress_monitor.sessions.transport import base


def _limits_after(soft: int, hard: int) -> list[int]:
    """The limits of a process of its own, after room was made in it."""
    code = (
        "import resource; from mcp_progress_monitor.sessions.transport import base\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "base.make_room()\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [(256, 800, 800), (800, 800, 800), (256, 9000, 4096), (5000, 9000, 5000)],
)
def test_the_limit_is_raised_to_what_is_needed_and_allowed(
    soft: int, hard: int, expected: int
) -> None:
    import resource

    ours = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if ours != resource.RLIM_INFINITY and ours < hard:
        pytest.skip("the machine allows less")
    assert _limits_after(soft, hard) == [expected, hard]


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_a_met_limit_says_what_to_do(code: int) -> None:
    reported = base.open_files_error(OSError(code, "Too many open files"), "python3")
    assert reported is not None
    assert reported.what == "Too many open files"
    assert reported.where == "python3"
    assert "ulimit -n" in reported.hint


def test_other_errors_are_reported_by_others() -> None:
    assert base.open_files_error(OSError(errno.ENOEXEC, "Exec format error"), "python3") is None
