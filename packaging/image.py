"""The container image of the core, for the command line and the tap: Linux, with buildah.

Users build it over a public image of Python. Here, where no registry is needed, its base is a bare
Debian with Python.
"""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Final

from bare_root import BareRoot, bare_root, mounts
from distributions import CORE, epoch
from system import checked, ensure_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_USER: Final = "65532:65532"
"""The user of the image, whom no system knows."""


class Image:
    """An image in a store of its own below `folder`, so that the machine's has nothing of it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.name = f"localhost/{CORE}"

    def build(self, base: str, wheels: Path, *, has_index: bool = True) -> None:
        """Build it over `base` from the core's wheel in `wheels`, with those that it requires.

        Without an index, `wheels` has all of these.
        """
        ensure_tools({"buildah": "buildah"})
        context = self._folder / "context"
        shutil.rmtree(context, ignore_errors=True)
        context.mkdir(parents=True)
        shutil.copytree(wheels, context / "wheels", ignore=_other_than_wheels)
        shutil.copy(self._root / "packaging" / "constraints.txt", context)
        arguments = [f"--build-arg=BASE={base}"]
        arguments += [] if has_index else ["--build-arg=PIP_NO_INDEX=1"]
        file = self._root / "packaging" / "Containerfile"
        options = [*arguments, "--timestamp", epoch(self._root), "-f", str(file), "-t", self.name]
        self._buildah("build", "--isolation=chroot", "--network=host", *options, str(context))

    def make_base(self, bare: Path) -> str:
        """Make an image of a bare Debian with Python."""
        name = "localhost/bare-python"
        with bare_root(bare, self._folder / "base") as root:
            root.must("apt-get", "update", "-q")
            root.install("python3-venv")
            container = self._buildah("from", "scratch")
            mounted = self._buildah("mount", container)
            # Not what is mounted inside.
            checked("cp", "-a", "--one-file-system", f"{root.folder}/.", mounted)
            self._buildah("umount", container)
            self._buildah("commit", "--rm", container, name)
        return name

    def save(self, file: Path) -> Path:
        """Write it as an archive that podman and docker load."""
        file.unlink(missing_ok=True)
        self._buildah("push", self.name, f"docker-archive:{file}:{CORE}")
        return file

    @contextlib.contextmanager
    def opened(self) -> Iterator[BareRoot]:
        """Mount it read-only, with an empty /data in memory, as a container's would be."""
        container = self._buildah("from", self.name)
        mounted = self._buildah("mount", container)
        folder = self._folder / "opened"
        folder.mkdir(parents=True, exist_ok=True)
        checked("mount", "--bind", mounted, str(folder))
        try:
            checked("mount", "-o", "remount,bind,ro", str(folder))
            with mounts(folder, "dev", "proc"):
                checked("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(folder / "data"))
                yield BareRoot(folder, user=_USER)
        finally:
            checked("umount", "--recursive", "--lazy", str(folder))
            self._buildah("rm", container)

    def _buildah(self, *words: str) -> str:
        store = self._folder / "store"
        own = ["--root", str(store), "--runroot", str(store / "run"), "--storage-driver", "vfs"]
        return checked("buildah", *own, *words).strip()


def _other_than_wheels(folder: str, names: list[str]) -> list[str]:
    del folder
    return [name for name in names if not name.endswith(".whl")]
