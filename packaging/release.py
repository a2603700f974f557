"""One command makes a release: `dev.py release X.Y.Z`.

It works in a Git worktree of its own, from what is committed: the checkout changes only when
everything has been built and tested, by one commit and its tag. What only a person can do
is printed at the end.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from environment import ROOT
from system import SetupError, say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

VERSION_FILE: Final = "app/mcp_progress_monitor/__init__.py"
CHANGELOG: Final = "CHANGELOG.md"
BRANCH: Final = "main"
SUMS: Final = "SHA256SUMS"
_WORK: Final = "build/release"
_VERSION: Final = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_OPEN: Final = re.compile(r"^## Unreleased\n(?P<changes>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_STEPS: Final = (("test",), ("build", "--all"))
"""The commands of dev.py that must succeed."""
_BY_HAND: Final = """
Version {version} is built, tested and tagged here. A person does the rest.

Once, before the first release:
- Register the workflow "release" with the environment "pypi" as a trusted publisher at the index.
- Set the variable IMAGE_BASE of the repository to an image of Python, by digest.

For this one:
1. Look at the changes:       git show v{version}
   To undo everything:        git tag -d v{version} && git reset --keep HEAD~1
2. Sign the tag, if you do:   git tag -f -s v{version} -m "Version {version}" HEAD
3. Push both:                 git push origin {branch} v{version}
   The workflow builds for all systems and tests again.
4. Approve its environment "pypi": the packages are published.
5. Look through the draft of the release on GitHub, and publish it.
6. Copy its formula to the Homebrew tap, and send its winget manifests to microsoft/winget-pkgs.
"""


def release(version: str, root: Path = ROOT) -> int:
    """Build, test, commit and tag a version; 1, with everything as it was, when a step fails.

    Raises:
        SetupError: this version cannot be released from here now; the message says why.
    """
    _refuse(version, root)
    work = root / _WORK
    _git(root, "worktree", "prune")
    _git(root, "worktree", "add", "--quiet", "--detach", "--force", str(work), "HEAD")
    try:
        write_version(version, work)
        close_changelog(version, work, datetime.datetime.now().astimezone().date())
        _git(work, "commit", "--quiet", "--all", "-m", f"release: {version}")
        for step in _STEPS:
            say(f"-- dev.py {' '.join(step)}")
            command = [sys.executable, str(work / "packaging" / "dev.py"), *step]
            if code := subprocess.run(command, cwd=work, check=False).returncode:
                say(f"dev.py {' '.join(step)} failed (exit code {code}). Nothing was changed.")
                return 1
        _take(work, root, version)
    finally:
        subprocess.run(
            ["git", "worktree", "remove", "--force", str(work)],  # noqa: S607
            cwd=root,
            capture_output=True,
            check=False,
        )
    print(_BY_HAND.format(version=version, branch=BRANCH))
    return 0


def version_of(root: Path = ROOT) -> str:
    """Return the version that the checkout has."""
    found = _VERSION.search((root / VERSION_FILE).read_text("utf-8"))
    assert found  # noqa: S101
    return found[1]


def write_version(version: str, root: Path) -> None:
    """Set the version in the one place that has it."""
    file = root / VERSION_FILE
    text = _VERSION.sub(f'__version__ = "{version}"', file.read_text("utf-8"))
    file.write_text(text, encoding="utf-8", newline="\n")


def close_changelog(version: str, root: Path, date: datetime.date) -> None:
    """Give the unreleased changes their version and date, and begin an empty section."""
    file = root / CHANGELOG
    heading = f"## Unreleased\n\n## {version} ({date.isoformat()})\n"
    text = file.read_text("utf-8").replace("## Unreleased\n", heading, 1)
    file.write_text(text, encoding="utf-8", newline="\n")


def notes(version: str, root: Path = ROOT) -> str:
    """Return what the changelog says of a version."""
    text = (root / CHANGELOG).read_text("utf-8")
    found = re.search(
        rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return found[1].strip() + "\n" if found else ""


def check_tag(tag: str, root: Path = ROOT) -> int:
    """Compare a tag with the version of the checkout; 1 when they differ."""
    version = version_of(root)
    if tag == f"v{version}":
        return 0
    say(f"The tag is {tag}, but the version is {version}.")
    return 1


def write_sums(folder: Path) -> dict[str, str]:
    """Write SHA256SUMS for the files of a folder, and return the sums by name."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    sums = {}
    for path in files:
        with path.open("rb") as stream:
            sums[path.name] = hashlib.file_digest(stream, "sha256").hexdigest()
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8", newline="\n")
    return sums


def draft(folder: Path, root: Path = ROOT) -> int:
    """Draft the release on GitHub with all files of a folder, by its own program `gh`."""
    tag = f"v{version_of(root)}"
    files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    files.remove(str(notes_file := folder / "manifests" / "notes.md"))
    options = ["--draft", "--verify-tag", "--title", tag, "--notes-file", str(notes_file)]
    command = ["gh", "release", "create", tag, *options, *files]
    return subprocess.run(command, cwd=root, check=False).returncode


def _refuse(version: str, root: Path) -> None:
    """Fail where a release would be wrong, before anything is changed."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SetupError(f"{version} is no version such as 1.2.3.")
    now = version_of(root)
    if _numbers(version) <= _numbers(now):
        raise SetupError(f"{version} is not above {now}, the version now.")
    if (branch := _git(root, "branch", "--show-current")) != BRANCH:
        raise SetupError(f"Releases are made on {BRANCH}, and this is {branch or 'no branch'}.")
    if changed := _git(root, "status", "--porcelain"):
        raise SetupError(f"Commit or stash these changes first:\n{changed}")
    if _git(root, "tag", "--list", f"v{version}"):
        raise SetupError(f"The tag v{version} exists already.")
    unreleased = _OPEN.search((root / CHANGELOG).read_text("utf-8"))
    if unreleased is None or not unreleased["changes"].strip():
        raise SetupError(f"{CHANGELOG} has no unreleased changes.")


def _take(work: Path, root: Path, version: str) -> None:
    """Take over what was built, then the commit with its tag: both or neither."""
    commit, tag = _git(work, "rev-parse", "HEAD"), f"v{version}"
    write_sums(work / "dist")
    shutil.rmtree(root / "dist", ignore_errors=True)
    shutil.move(work / "dist", root / "dist")
    _git(root, "tag", "-a", tag, "-m", f"Version {version}", commit)
    try:
        _git(root, "merge", "--quiet", "--ff-only", commit)
    except SetupError:
        _git(root, "tag", "-d", tag)
        raise
    say(f"Built {root / 'dist'}")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _git(folder: Path, *arguments: str) -> str:
    command: Sequence[str] = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SetupError("A release needs git.") from None
    if done.returncode:
        raise SetupError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout.strip()
