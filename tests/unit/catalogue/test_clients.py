"""Where each client keeps its configuration, on each system."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.client_files import found_files, project_of
from mcp_progress_monitor.catalogue.clients import FORMS, KNOWN, client_of

CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
MSIX = "AppData/Local/Packages/Claude_pzs8/LocalCache/Roaming"
PLACES = {
    "linux": {
        "claude-desktop": [".config/Claude/claude_desktop_config.json"],
        "claude-code": [".claude.json"],
        "vscode": [
            ".config/Code/User/mcp.json",
            ".config/Code/User/profiles/-12ab/mcp.json",
            ".config/Code/User/settings.json",
            ".config/Code - Insiders/User/mcp.json",
            ".config/VSCodium/User/mcp.json",
            ".vscode-server/data/User/mcp.json",
            ".vscode-server/data/Machine/settings.json",
            ".vscode-server-insiders/data/User/mcp.json",
            ".vscode-remote/data/User/mcp.json",
            ".vscodium-server/data/User/mcp.json",
            ".local/share/code-server/User/mcp.json",
            ".var/app/com.visualstudio.code/config/Code/User/mcp.json",
            ".var/app/com.vscodium.codium/config/VSCodium/User/mcp.json",
        ],
        "cursor": [".cursor/mcp.json"],
        "windsurf": [".codeium/windsurf/mcp_config.json", ".codeium/windsurf-next/mcp_config.json"],
        "cline": [
            ".cline/data/settings/cline_mcp_settings.json",
            f".config/Code/User/{CLINE}",
            f".config/Cursor/User/{CLINE}",
            f".vscode-server/data/User/{CLINE}",
        ],
        "gemini": [".gemini/settings.json"],
        "codex": [".codex/config.toml"],
        "zed": [".config/zed/settings.json", ".var/app/dev.zed.Zed/config/zed/settings.json"],
        "inspector": [".mcp-inspector/mcp.json"],
    },
    "darwin": {
        "claude-desktop": ["Library/Application Support/Claude/claude_desktop_config.json"],
        "claude-code": [".claude.json"],
        "vscode": [
            "Library/Application Support/Code/User/mcp.json",
            "Library/Application Support/Code - Insiders/User/mcp.json",
        ],
        "cursor": [".cursor/mcp.json"],
        "cline": [f"Library/Application Support/Code/User/{CLINE}"],
        "zed": [".config/zed/settings.json"],
    },
    "win32": {
        "claude-desktop": [
            "AppData/Roaming/Claude/claude_desktop_config.json",
            f"{MSIX}/Claude/claude_desktop_config.json",
        ],
        "claude-code": [".claude.json"],
        "vscode": [
            "AppData/Roaming/Code/User/mcp.json",
            "AppData/Roaming/Code/User/profiles/-12ab/mcp.json",
            "AppData/Roaming/Code - Insiders/User/mcp.json",
        ],
        "cursor": [".cursor/mcp.json"],
        "cline": [f"AppData/Roaming/Code/User/{CLINE}"],
        "codex": [".codex/config.toml"],
        "zed": ["AppData/Roaming/Zed/settings.json"],
    },
}


def put(folder: Path, name: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    return file


@pytest.mark.parametrize("platform", PLACES)
def test_the_files_of_all_clients_are_found(tmp_path: Path, platform: str) -> None:
    places = PLACES[platform]
    wanted = [(client, put(tmp_path, name)) for client, names in places.items() for name in names]
    found = [(one.client.key, one.path) for one in found_files(tmp_path, {}, platform)]
    assert found == wanted


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    (tmp_path / ".cursor" / "mcp.json").mkdir(parents=True)
    assert found_files(tmp_path, {}, "linux") == []


def test_variables_move_places(tmp_path: Path) -> None:
    moved = put(tmp_path, "elsewhere/config.toml")
    settings = put(tmp_path, "xdg/Code/User/mcp.json")
    env = {"CODEX_HOME": str(moved.parent), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    found = [one.path for one in found_files(tmp_path / "home", env, "linux")]
    assert found == [settings, moved]


def test_files_of_a_project_are_found_with_it(tmp_path: Path) -> None:
    for name in (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"):
        put(tmp_path / "p", name)
    assert found_files(tmp_path, {}, "linux") == []
    found = found_files(tmp_path, {}, "linux", tmp_path / "p")
    assert [one.client.key for one in found] == ["claude-code", "vscode", "cursor"]


def test_the_containers_of_a_project_are_its_files(tmp_path: Path) -> None:
    names = (".devcontainer/devcontainer.json", ".devcontainer/web/devcontainer.json")
    wanted = [put(tmp_path / "p", name) for name in names]
    found = found_files(tmp_path, {}, "linux", tmp_path / "p")
    assert [(one.client.key, one.path, one.is_shared) for one in found] == [
        ("vscode", path, True) for path in wanted
    ]
    assert {project_of(path, one.client) for path, one in zip(wanted, found, strict=True)} == {
        tmp_path / "p"
    }
    assert project_of(tmp_path / ".devcontainer/a/b/devcontainer.json", client_of("vscode")) is None


def test_keys_name_forms() -> None:
    assert len({client.key for client in FORMS}) == len(FORMS)
    assert client_of("zed").title == "Zed"
    assert set(KNOWN) < set(FORMS)
