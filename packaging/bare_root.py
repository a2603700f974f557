"""A bare Debian in a folder, to try out there what users of a clean machine would: Linux, as root.

debootstrap makes it once, of the release and the mirror that this machine itself uses. Each trial
has a copy, with /proc, /dev and the host's network, and nothing else of the host.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from system import SetupError, checked, ensure_tools, is_debian, is_root, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOUNTS: Final = ("proc", "dev", "sys")
_USER: Final = "user"
HOME: Final = f"/home/{_USER}"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class BareRoot:
    """A system in a folder, with what it needs mounted; `user` is someone without rights."""

    def __init__(self, folder: Path, user: str = _USER) -> None:
        self.folder = folder
        self._user = user

    def run(
        self,
        *words: str,
        is_user: bool = False,
        environ: Mapping[str, str] | None = None,
        timeout_s: float = 900.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as root or as the user without rights, with a bare environment."""
        return subprocess.run(
            self.command(*words, is_user=is_user),
            env={"PATH": _PATH, **({"HOME": HOME} if is_user else {}), **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )

    def command(self, *words: str, is_user: bool = False) -> list[str]:
        """Return the command of the host that runs another inside."""
        who = [f"--userspec={self._user}"] if is_user else []
        chroot = shutil.which("chroot") or "/usr/sbin/chroot"  # where a user's path has it not
        return [chroot, *who, str(self.folder), *words]

    def must(self, *words: str, is_user: bool = False) -> str:
        """Run a command inside that succeeds; its output.

        Raises:
            SetupError: it failed; the message has what it wrote.
        """
        done = self.run(*words, is_user=is_user, environ={"DEBIAN_FRONTEND": "noninteractive"})
        if done.returncode:
            raise SetupError(
                f"{' '.join(words)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done.stdout

    def install(self, *packages: str) -> None:
        """Install packages, or files inside by a path with `./`, and what they depend on."""
        self.must("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)

    def processes(self) -> list[str]:
        """List the commands of processes that run inside."""
        found = []
        for link in os.scandir("/proc"):
            with contextlib.suppress(OSError):  # it ended, or is no process
                process = Path(link)
                if process.joinpath("root").readlink() == self.folder:
                    found.append(str(process.joinpath("exe").readlink()))
        return found


@contextlib.contextmanager
def bare_root(base: Path, folder: Path) -> Iterator[BareRoot]:
    """Copy the bare system of `base`, which is made where it is not, and mount what it needs.

    Raises:
        SetupError: this machine cannot make one; the message says what to do.
    """
    ensure_base(base)
    checked("cp", "-a", "--reflink=auto", str(base), str(folder))
    shutil.copy("/etc/resolv.conf", folder / "etc")
    shutil.copy("/etc/hosts", folder / "etc")
    root = BareRoot(folder)
    with mounts(folder, *_MOUNTS):
        root.must("useradd", "--create-home", _USER)
        yield root
    shutil.rmtree(folder)  # never with something of the host mounted in it


@contextlib.contextmanager
def mounts(folder: Path, *names: str) -> Iterator[None]:
    """Show these folders of the host's root in another root as well."""
    mounted = []
    try:
        for name in names:
            checked("mount", "--rbind", f"/{name}", str(folder / name))
            mounted.append(folder / name)
            checked("mount", "--make-rslave", str(folder / name))
        yield
    finally:
        for place in reversed(mounted):
            checked("umount", "--recursive", "--lazy", str(place))


def ensure_base(base: Path) -> None:
    """Make the bare system, unless it is there."""
    if (base / "etc" / "debian_version").exists():
        return
    if not (is_debian() and is_root()):
        raise SetupError("A bare system is made by debootstrap: on Debian, as root.")
    ensure_tools({"debootstrap": "debootstrap"})
    address, release = mirror()
    making = base.with_name(f"{base.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    say(f"Making a bare {release} in {base}")
    checked("debootstrap", "--variant=minbase", release, str(making), address)
    making.rename(base)


def mirror() -> tuple[str, str]:
    """Return where this machine has its own packages from, and its release."""
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    targets = checked("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)")
    for line in targets.splitlines():
        address, _, name = line.partition(" ")
        if name == release:
            return address, release
    raise SetupError("apt-get knows no mirror of this release; see /etc/apt/sources.list.")
