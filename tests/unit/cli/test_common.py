"""What of the command line opens the window before click reads any."""

import itertools
from pathlib import Path

import pytest

from mcp_progress_monitor.cli import desktop
from mcp_progress_monitor.cli.common import CommonOptions, plain_window
from mcp_progress_monitor.cli.entry import main

_ARGUMENTS = ("--demo", "--data-dir", "--data-dir=d", "--data-dir=", "d", "", "-x", "--", "tools")


def _orders() -> list[list[str]]:
    lengths = range(4)
    found = itertools.chain(*(itertools.product(_ARGUMENTS, repeat=length) for length in lengths))
    return [list(text) for text in found if plain_window(text) is not None]


def test_plain_orders_mean_what_click_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[CommonOptions] = []

    def note(common: CommonOptions, *_: object, **_more: object) -> int:
        opened.append(common)
        return 0

    monkeypatch.setattr(desktop, "open_window", note)
    for text in _orders():
        assert main(text) == 0, text
        assert opened.pop() == plain_window(text), text


def test_what_is_plain() -> None:
    orders = _orders()
    assert [] in orders
    assert ["--data-dir", "-x", "--demo"] in orders
    assert not any({"tools", "--data-dir="} & set(text[:1]) for text in orders)


def test_a_file_in_place_of_the_folder_is_left_to_click(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert plain_window([f"--data-dir={file}"]) == CommonOptions(data_dir=file)
    file.touch()
    assert plain_window([f"--data-dir={file}"]) is None


def test_completion_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MCP_PROGRESS_MONITOR_COMPLETE", "bash_source")
    assert plain_window([]) is None
