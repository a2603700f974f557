"""The files that a Linux desktop reads, and the programs that make it read them."""

import os
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from configparser import RawConfigParser
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.file_association import LinuxAssociation, exec_line
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

COMMAND = ["/opt/a folder/mcp-progress-monitor"]
MIME = "application/x-mcp-recording"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a shell script of that name on the path; return the file that it may write to."""
    folder, said = tmp_path / "bin", tmp_path / "said"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("SAID", str(said))

    def tool(name: str, script: str) -> Path:
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o700)
        return said

    return tool


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "share"


def desktop_entry(home: Path) -> dict[str, str]:
    """The desktop file's entries, their values' escapes undone."""
    (file,) = (home / "applications").glob("*.desktop")
    parser = RawConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file, encoding="utf-8")
    return {name: value.replace("\\\\", "\\") for name, value in parser["Desktop Entry"].items()}


@pytest.mark.usefixtures("tools")
def test_the_desktop_file_opens_the_type_with_the_command(home: Path) -> None:
    LinuxAssociation(home, COMMAND).add()
    entry = desktop_entry(home)
    assert shlex.split(entry["Exec"]) == [*COMMAND, "open", "%f"]
    assert entry["MimeType"] == f"{MIME};"
    assert entry["Type"] == "Application"


@pytest.mark.usefixtures("tools")
def test_the_type_is_known_by_ending_and_by_its_first_bytes(home: Path) -> None:
    LinuxAssociation(home, COMMAND).add()
    (file,) = (home / "mime" / "packages").glob("*.xml")
    space = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    found = ET.parse(file).find("m:mime-type", space)  # noqa: S314  # a file of our own
    assert found is not None
    assert found.get("type") == MIME
    glob, match = found.find("m:glob", space), found.find("m:magic/m:match", space)
    assert glob is not None
    assert match is not None
    assert glob.get("pattern") == f"*{SUFFIX}"
    assert (match.get("offset"), match.get("value")) == ("0", HEADER.decode())


@pytest.mark.usefixtures("tools")
def test_the_icons_are_where_themes_look_for_them(home: Path) -> None:
    LinuxAssociation(home, COMMAND).add()
    icons = home / "icons" / "hicolor" / "scalable"
    assert (icons / "mimetypes" / f"{MIME.replace('/', '-')}.svg").is_file()
    assert (icons / "apps" / f"{desktop_entry(home)['Icon']}.svg").is_file()


def test_the_desktops_programs_are_run_and_named(
    home: Path, tools: Callable[[str, str], Path]
) -> None:
    for name in ("update-mime-database", "update-desktop-database"):
        said = tools(name, f'echo "{name} $1" >> "$SAID"')
    outcome = LinuxAssociation(home, COMMAND).add()
    ran = said.read_text().splitlines()
    assert ran == [
        f"update-mime-database {home / 'mime'}",
        f"update-desktop-database {home / 'applications'}",
    ]
    assert [f"Ran {line}" in outcome.done for line in ran] == [True, True]
    assert outcome.to_do == ()


@pytest.mark.usefixtures("tools")
def test_programs_that_are_not_there_are_named_with_their_package(home: Path) -> None:
    outcome = LinuxAssociation(home, COMMAND).add()
    assert len(outcome.done) == 4
    assert "shared-mime-info" in outcome.to_do[0]
    assert "desktop-file-utils" in outcome.to_do[1]


def test_a_program_that_fails_is_reported_with_its_own_message(
    home: Path, tools: Callable[[str, str], Path]
) -> None:
    tools("update-mime-database", "echo no such luck >&2; exit 3")
    outcome = LinuxAssociation(home, COMMAND).add()
    assert "no such luck" in outcome.to_do[0]


@pytest.mark.usefixtures("tools")
def test_removing_takes_back_every_file(home: Path) -> None:
    association = LinuxAssociation(home, COMMAND)
    association.add()
    outcome = association.remove()
    assert [line for line in outcome.done if line.startswith("Removed ")]
    assert [path for path in home.rglob("*") if path.is_file()] == []
    assert association.remove().done == ("No association to remove.",)


@pytest.mark.usefixtures("tools")
def test_associating_again_replaces_the_command(home: Path) -> None:
    LinuxAssociation(home, ["/old"]).add()
    LinuxAssociation(home, ["/new"]).add()
    assert desktop_entry(home)["Exec"] == "/new open %f"


@pytest.mark.usefixtures("tools")
def test_a_folder_that_cannot_be_written_is_named(home: Path) -> None:
    home.touch()
    with pytest.raises(UserError) as raised:
        LinuxAssociation(home, COMMAND).add()
    assert str(home) in raised.value.details.where
    assert "XDG_DATA_HOME" in raised.value.details.hint


@pytest.mark.parametrize(
    "word", ["plain", "a b", 'quo"te', "dol$lar", "back\\slash", "tick`", "it's", "100%", ""]
)
def test_every_word_of_the_command_comes_back(word: str) -> None:
    value = exec_line([word]).replace("\\\\", "\\")  # the quoting is that of a POSIX shell
    script = f"printf '%s|' {value} end"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)  # noqa: S607
    assert done.stdout.replace("%%", "%") == f"{word}|end|"


@pytest.mark.skipif(shutil.which("update-mime-database") is None, reason="needs shared-mime-info")
def test_the_mime_database_takes_the_type(home: Path) -> None:
    outcome = LinuxAssociation(home, COMMAND).add()
    assert [line for line in outcome.done if line.startswith("Ran update-mime-database")]
    assert f"50:{MIME}:*{SUFFIX}" in (home / "mime" / "globs2").read_text()


@pytest.mark.skipif(
    shutil.which("desktop-file-validate") is None, reason="needs desktop-file-utils"
)
def test_the_desktop_file_is_valid(home: Path) -> None:
    LinuxAssociation(home, COMMAND).add()
    (file,) = (home / "applications").glob("*.desktop")
    done = subprocess.run(
        ["desktop-file-validate", str(file)],  # noqa: S607
        capture_output=True,
        check=False,
        env=os.environ.copy(),
    )
    assert (done.returncode, done.stdout) == (0, b"")
