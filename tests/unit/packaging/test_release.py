"""A release changes the checkout when all has succeeded, and not before."""

import datetime
import os
import subprocess
from pathlib import Path

import pytest

import release
from system import SetupError
from tests.unit.packaging.recorder import Recorder

STEPS = """\
import sys
from pathlib import Path
root = Path(__file__).parents[1]
(root / "steps").open("a").write(" ".join(sys.argv[1:]) + "\\n")
if (root / "fails").exists() and sys.argv[1] == "build":
    sys.exit(3)
if sys.argv[1] == "build":
    (root / "dist").mkdir()
    (root / "dist" / "steps.txt").write_text((root / "steps").read_text())
"""
"""Stands in for dev.py: it notes the commands, and builds that file."""


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = tmp_path / "checkout"
    for name, text in {
        release.VERSION_FILE: '"""Doc."""\n\n__version__ = "0.1.0"\n',
        release.CHANGELOG: "# Changelog\n\n## Unreleased\n\n- News.\n\n## 0.1.0\n\n- Old.\n",
        "packaging/dev.py": STEPS,
        ".gitignore": "build/\ndist/\nsteps\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    _git(root, "init", "--quiet")
    _commit(root)
    return root


def _commit(root: Path) -> None:
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "-m", "first")


def _state(root: Path) -> list[str]:
    return [_git(root, *each.split()) for each in ("rev-parse HEAD", "tag", "status --porcelain")]


def test_a_release_is_built_from_its_own_commit_and_tagged(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "dist").mkdir()
    (checkout / "dist" / "old.whl").touch()

    assert release.release("0.2.0", checkout) == 0

    assert _git(checkout, "show", "--format=%s", "--no-patch", "v0.2.0^{commit}") == (
        "release: 0.2.0"
    )
    assert _git(checkout, "rev-parse", "v0.2.0^{commit}") == _git(checkout, "rev-parse", "HEAD")
    assert _git(checkout, "status", "--porcelain") == ""
    assert release.version_of(checkout) == "0.2.0"
    today = datetime.datetime.now().astimezone().date().isoformat()
    changelog = (checkout / release.CHANGELOG).read_text()
    assert f"## Unreleased\n\n## 0.2.0 ({today})\n\n- News.\n\n## 0.1.0\n" in changelog
    assert release.notes("0.2.0", checkout) == "- News.\n"
    assert (checkout / "dist" / "steps.txt").read_text() == "test\nbuild --all\n"
    assert "  steps.txt\n" in (checkout / "dist" / release.SUMS).read_text()
    assert not (checkout / "dist" / "old.whl").exists()
    assert not (checkout / "build" / "release").exists()
    assert "git push origin main v0.2.0" in capsys.readouterr().out


def test_a_step_that_fails_leaves_everything_as_it_was(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "fails").touch()
    _commit(checkout)
    before = _state(checkout)

    assert release.release("0.2.0", checkout) == 1

    assert _state(checkout) == before
    assert not (checkout / "build" / "release").exists()
    assert "dev.py build --all failed (exit code 3)" in capsys.readouterr().err
    (checkout / "fails").unlink()
    _commit(checkout)
    assert release.release("0.2.0", checkout) == 0


@pytest.mark.parametrize(
    ("version", "before", "text"),
    [
        ("0.2", (), "no version such as"),
        ("0.1.0", (), "not above 0.1.0"),
        ("0.0.9", (), "not above 0.1.0"),
        ("0.2.0", ("switch", "-q", "-c", "topic"), "made on main, and this is topic"),
        ("0.2.0", ("rm", "-q", "packaging/dev.py"), "Commit or stash"),
        ("0.2.0", ("tag", "v0.2.0"), "tag v0.2.0 exists"),
    ],
)
def test_a_wrong_release_is_refused(
    checkout: Path, version: str, before: tuple[str, ...], text: str
) -> None:
    if before:
        _git(checkout, *before)
    state = _state(checkout)
    with pytest.raises(SetupError, match=text):
        release.release(version, checkout)
    assert _state(checkout) == state


def test_a_release_without_changes_is_refused(checkout: Path) -> None:
    (checkout / release.CHANGELOG).write_text(
        "# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- Old.\n"
    )
    _commit(checkout)
    with pytest.raises(SetupError, match="no unreleased changes"):
        release.release("0.2.0", checkout)


def test_a_tag_is_compared_with_the_version(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.check_tag("v0.1.0", checkout) == 0
    assert release.check_tag("v0.2.0", checkout) == 1
    assert "The tag is v0.2.0, but the version is 0.1.0." in capsys.readouterr().err


def test_the_draft_has_every_file_but_the_notes(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(subprocess, "run", recorder)
    files = [tmp_path / "dist" / name for name in ("a.whl", "manifests/a.rb", "manifests/notes.md")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert release.draft(tmp_path / "dist", checkout) == 0
    (command,) = recorder.commands
    assert command.startswith("gh release create v0.1.0 --draft --verify-tag")
    assert f"--notes-file {files[2]} {files[0]} {files[1]}" in command
