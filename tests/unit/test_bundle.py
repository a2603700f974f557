"""Programs that a bundle starts have the user's environment, and nothing of the bundle's."""

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import bundle, paths
from mcp_progress_monitor.sessions.transport.server_process import environment_of
from mcp_progress_monitor.snapshots.definitions import StdioDefinition, demo_definition


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run as a bundle in a folder does, which is returned."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "program"))
    return tmp_path


def test_without_a_bundle_the_environment_is_as_it_is() -> None:
    found = {"LD_LIBRARY_PATH": "/a", "LD_LIBRARY_PATH_ORIG": "/b", "_PYI_X": "1"}
    assert bundle.user_environment(found) == found


def test_the_users_own_values_are_given_back(bundled: Path) -> None:
    found = bundle.user_environment(
        {
            "LD_LIBRARY_PATH": f"{bundled}:/users",
            "LD_LIBRARY_PATH_ORIG": "/users",
            "QT_PLUGIN_PATH": f"{bundled}/plugins",
            "QT_PLUGIN_PATH_ORIG": "/plugins",
        }
    )
    assert found == {"LD_LIBRARY_PATH": "/users", "QT_PLUGIN_PATH": "/plugins"}


def test_what_the_user_had_not_set_is_not_there(bundled: Path) -> None:
    found = {
        "LD_LIBRARY_PATH": str(bundled),
        "QT_PLUGIN_PATH": f"{bundled}/PySide6/plugins",
        "_PYI_APPLICATION_HOME_DIR": str(bundled),
        "PATH": f"/bin:{bundled}/bin:/usr/bin",
        "EMPTY": "",
        "EDITOR": "vi",
    }
    assert bundle.user_environment(found) == {"PATH": "/bin:/usr/bin", "EMPTY": "", "EDITOR": "vi"}


def test_a_server_has_the_users_values(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(bundled))
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/users")
    definition = StdioDefinition(name="s", command="c", env={"MINE": "1"})
    found = environment_of(definition)
    assert (found["LD_LIBRARY_PATH"], found["MINE"]) == ("/users", "1")
    assert "LD_LIBRARY_PATH_ORIG" not in found


@pytest.mark.parametrize("users", [None, "/users"])
def test_system_programs_do_not_load_the_bundles_libraries(
    bundled: Path, monkeypatch: pytest.MonkeyPatch, users: str | None
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(bundled))
    if users is not None:
        monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", users)
    bundle.restore_search_path()
    assert os.environ.get("LD_LIBRARY_PATH") == users


@pytest.mark.usefixtures("bundled")
def test_parts_of_a_bundle_are_started_by_hidden_commands() -> None:
    assert demo_definition("--profile", "silent").args == ("serve-demo", "--profile", "silent")
    assert demo_definition().command == sys.executable
    assert paths.internal_command(paths.WATCHDOG) == [sys.executable, "watch-servers"]
