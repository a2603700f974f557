"""A hint that says how to approve a server can be typed as it is."""

from pathlib import Path

import pytest

from mcp_progress_monitor.cli.asking.approval import trust_command
from mcp_progress_monitor.cli.common import CommonOptions


def test_the_command_that_agrees_can_be_typed_whatever_the_server_is_called(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/checkout/app/mcp_progress_monitor/__main__.py"])
    common = CommonOptions(config=Path("a b"), data_dir=data_dir)
    assert trust_command("-x", common).endswith(f"--config 'a b' --data-dir {data_dir} -- -x")
    assert trust_command("x y", CommonOptions()).endswith(
        " -m mcp_progress_monitor servers trust 'x y'"
    )
