"""Files that a user names: read whole, within bounds, from pipes as well."""

import os
import sys
import threading
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.calls import arguments
from mcp_progress_monitor.cli.calls.arguments import read_typed

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices of POSIX")


def test_a_byte_order_mark_is_no_text(isolated_home: Path) -> None:
    (isolated_home / "a.json").write_bytes(b"\xef\xbb\xbf{}")
    assert read_typed(Path("~/a.json")) == "{}"


@posix_only
def test_a_device_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "LARGEST", 1_000_000)
    with pytest.raises(ValueError, match="larger than 1"):
        read_typed(Path("/dev/zero"))


@posix_only
def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("{}",))
    writer.start()
    assert read_typed(pipe) == "{}"
    writer.join()
