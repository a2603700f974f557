from pathlib import Path

import pytest

import system
from tests.unit.packaging.recorder import Recorder


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A Debian machine where this is root."""
    recorder = Recorder()
    monkeypatch.setattr(system, "is_debian", lambda: True)
    monkeypatch.setattr(system, "is_root", lambda: True)
    monkeypatch.setattr("system.subprocess.run", recorder)
    return recorder


def test_root_on_debian_updates_once_and_installs_without_questions(debian: Recorder) -> None:
    system.install(["libegl1", "libgl1"], "Qt lacks libraries")

    update, install = debian.commands
    assert update.endswith("update -q")
    assert install.endswith("install -y -q --no-install-recommends libegl1 libgl1")
    assert all(e and e["DEBIAN_FRONTEND"] == "noninteractive" for e in debian.environments)


def test_someone_without_rights_is_reported_the_exact_command(
    debian: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "is_root", lambda: False)

    with pytest.raises(system.SetupError) as caught:
        system.install(["libegl1"], "Qt lacks libraries")

    assert "Qt lacks libraries" in str(caught.value)
    assert "sudo apt-get update && sudo apt-get install -y libegl1" in str(caught.value)
    assert debian.commands == []


def test_another_system_is_reported_which_packages_hold_what_is_missing(
    debian: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "is_debian", lambda: False)

    with pytest.raises(system.SetupError, match=r"no apt-get.*\n.*libegl1"):
        system.install(["libegl1"], "Qt lacks libraries")

    assert debian.commands == []


def test_a_failed_apt_get_shows_its_own_text(
    debian: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Recorder(lambda line: 100 if "install" in line else 0, "E: No space left on device")
    monkeypatch.setattr("system.subprocess.run", broken)

    with pytest.raises(system.SetupError, match=r"exit code 100.*\nE: No space left"):
        system.install(["libegl1"], "Qt lacks libraries")


def test_a_folder_without_debian_version_is_no_debian(tmp_path: Path) -> None:
    assert not system.is_debian(tmp_path)


def test_debian_without_apt_get_is_no_debian_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "debian_version").write_text("12.11\n", encoding="utf-8")
    monkeypatch.setattr("system.shutil.which", lambda _: None)

    assert not system.is_debian(tmp_path)


def test_words_for_people_stay_off_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    system.say("Installing")

    assert capsys.readouterr() == ("", "Installing\n")
