"""What of the command line is a tap's, before click reads any."""

import subprocess
import sys

import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.cli.tapping import plain_order


def test_options_and_command_are_read() -> None:
    order = plain_order(
        ["tap", "--name", "a b", "--client=Some", "--data-dir", "/d", "--", "srv", "--", "-x"]
    )
    assert order is not None
    assert (order.name, order.client, order.data_dir) == ("a b", "Some", "/d")
    assert order.command == ("srv", "--", "-x")


def test_a_command_alone_will_do() -> None:
    order = plain_order(["tap", "--", "srv"])
    assert order is not None
    assert (order.name, order.client, order.data_dir, order.command) == (None, None, None, ("srv",))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tap"],
        ["tap", "--"],
        ["tap", "--help", "--", "srv"],
        ["tap", "--name", "--", "srv"],
        ["tap", "--name=", "--", "srv"],
        ["tap", "--to", "http://x", "--", "srv"],
        ["tap", "install", "--", "srv"],
        ["call", "tap", "--", "srv"],
        ["--data-dir", "d", "tap", "--", "srv"],
    ],
)
def test_all_else_is_left_to_click(arguments: list[str]) -> None:
    assert plain_order(arguments) is None


def test_nothing_is_imported_that_a_client_would_wait_for() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import mcp_progress_monitor.__main__, mcp_progress_monitor.cli.tapping\n"
        "import mcp_progress_monitor.tap.posix\n"
        "print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(paths.import_root())],
        capture_output=True,
        check=True,
        text=True,
    )
    slow = {"click", "json", "pathlib", "re", "subprocess", "threading", "typing"}
    assert slow.isdisjoint(ran.stdout.split())
