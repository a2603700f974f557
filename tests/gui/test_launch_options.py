"""What follows from an unusable data folder is not reported a second time."""

from pathlib import Path

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.launch_options import WindowOptions


def test_an_error_below_a_reported_data_folder_is_known(tmp_path: Path) -> None:
    folder = ErrorDetails("The data folder cannot be written", str(tmp_path))
    options = WindowOptions(data_dir=tmp_path, error=folder)
    assert options.is_known(ErrorDetails("Not recorded", str(tmp_path / "recordings" / "a")))
    assert not options.is_known(folder)
    assert not options.is_known(ErrorDetails("Not recorded", f"{tmp_path}2/a.mcprec"))
    assert not options.is_known(ErrorDetails("Cannot start a server", "demo"))
    sound = WindowOptions(data_dir=tmp_path)
    assert not sound.is_known(ErrorDetails("Not recorded", str(tmp_path / "a")))
