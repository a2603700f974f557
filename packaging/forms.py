"""All forms in which the program is delivered: made, tried out where nothing of it is, weighed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import distributions
from archive import archive
from bare_root import HOME, BareRoot, bare_root
from bundle import build_bundle
from deb import build_deb, check_deb
from distributions import CORE, NAME, epoch
from image import Image
from proofs import Program, prove
from release import version_of
from system import SetupError, checked, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from environment import Environment

_SIZES: Final = Path(__file__).with_name("sizes.toml")
_DATA: Final = f"{HOME}/data"
_PICTURE: Final = "window.png"
_FOR_WINDOW: Final = (
    *("libegl1", "libgl1", "libopengl0", "libxcb1", "libdrm2", "libgbm1", "libstdc++6", "zlib1g"),
)
"""What a desktop has and a bare root lacks, for the bundle alone: no fonts, it brings its own.

The package asks for its own.
"""


class Form(NamedTuple):
    """A form and what it takes: `seconds` from the file to a watched job."""

    name: str
    size: int
    seconds: float


def build_distributions(environment: Environment, *, is_proved: bool = False) -> list[Form]:
    """Build wheels and sdists into dist/ and check them; with `is_proved` install them as users do.

    Raises:
        SetupError: a check or an installation failed.
    """
    environment.ensure()
    root = environment.root
    files = distributions.build(root, root / "dist", environment.python)
    tools = ["twine", *(["pipx", "uv"] if is_proved else [])]
    environment.pip("install", "-c", str(environment.constraints), *tools)
    checked(str(environment.python), "-m", "twine", "check", "--strict", *map(str, files))
    for file in files:
        say(f"Built {file} ({_mb(file.stat().st_size)} MB)")
    if not is_proved:
        return []
    sizes = {name: _wheel(files, name).stat().st_size for name in (CORE, NAME)}
    return [
        Form(f"{CORE}, pip", sizes[CORE], _installed_by_pip(environment, CORE)),
        Form(f"{NAME}, pip", sizes[NAME], _installed_by_pip(environment, NAME)),
        Form(f"{NAME}, pipx", sizes[NAME], _installed_by_pipx(environment)),
        Form(f"{NAME}, uvx", sizes[NAME], _run_by_uv(environment)),
    ]


def _wheel(files: Iterable[Path], name: str) -> Path:
    start = f"{name.replace('-', '_')}-"
    return next(file for file in files if file.suffix == ".whl" and file.name.startswith(start))


def _installed_by_pip(environment: Environment, name: str) -> float:
    with tempfile.TemporaryDirectory() as temporary:
        folder, started = Path(temporary), time.monotonic()
        checked(sys.executable, "-m", "venv", str(folder / "venv"))
        pip = ["-m", "pip", "install", "--find-links", str(environment.root / "dist")]
        wanted = f"{name}=={version_of(environment.root)}"
        python = folder / "venv" / "bin" / "python"
        checked(str(python), *pip, "-c", str(environment.constraints), wanted)
        installed = time.monotonic() - started
        program = _here([str(python.with_name(NAME))], folder)
        picture = _PICTURE if name == NAME else None
        return installed + prove(program, picture=picture, python=environment.python)


def _installed_by_pipx(environment: Environment) -> float:
    with tempfile.TemporaryDirectory() as temporary:
        folder, started = Path(temporary), time.monotonic()
        own = {"PIPX_HOME": f"{folder}/home", "PIPX_BIN_DIR": f"{folder}/bin"}
        options = f"-f {environment.root / 'dist'} -c {environment.constraints}"
        command = ["-m", "pipx", "install", "--pip-args", options]
        wanted = f"{NAME}=={version_of(environment.root)}"
        checked(str(environment.python), *command, wanted, environ={**os.environ, **own})
        installed = time.monotonic() - started
        return installed + prove(_here([f"{folder}/bin/{NAME}"], folder))


def _run_by_uv(environment: Environment) -> float:
    """Run it without installing, as `uvx mcp-progress-monitor` does; the first start takes long."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, started = Path(temporary), time.monotonic()
        uv = str(environment.python.with_name("uv"))
        links = ["--find-links", str(environment.root / "dist"), "-c", str(environment.constraints)]
        wanted = f"{NAME}=={version_of(environment.root)}"
        command = [uv, "tool", "run", *links, "--from", wanted, NAME]
        own = {"UV_CACHE_DIR": f"{folder}/cache", "UV_TOOL_DIR": f"{folder}/tools"}
        kept = {name: value for name, value in os.environ.items() if "CERT" in name}
        checked(*command, "--version", environ={**os.environ, **own})
        installed = time.monotonic() - started
        return installed + prove(_here(command, folder, {**kept, **own, "UV_OFFLINE": "1"}))


def _here(command: list[str], folder: Path, environ: Mapping[str, str] | None = None) -> Program:
    data, own = folder / "data", {"HOME": str(folder), **(environ or {})}
    return Program(lambda words: [*command, *words], str(data), data, own)


def build_archive(environment: Environment) -> list[Path]:
    """Make the bundle in dist/, try it out here, and pack it.

    Raises:
        SetupError: it does not work.
    """
    if build_bundle(environment):
        raise SetupError("The bundle does not work; the step that failed is above.")
    root = environment.root
    files = archive(root / "dist" / NAME, version_of(root), int(epoch(root)))
    for file in files:
        say(f"Built {file} ({_mb(file.stat().st_size)} MB)")
    return files


def prove_archive(environment: Environment, file: Path) -> Form:
    """Unpack and use it in a bare root with what drivers bring; there are no fonts."""
    with _root(environment) as root:
        root.must("apt-get", "update", "-q")
        root.install(*_FOR_WINDOW)
        started = time.monotonic()
        shutil.unpack_archive(file, root.folder / "opt")
        unpacked = time.monotonic() - started
        program = _inside(root, f"/opt/{NAME}/{NAME}")
        took = unpacked + prove(program, picture=_PICTURE, python=environment.python)
        _take_picture(environment, root, "bundle")
        _nothing_left(root)
        return Form("bundle", file.stat().st_size, took)


def build_package(environment: Environment) -> Path:
    """Make the package for Debian of the bundle in dist/, and check it.

    Raises:
        SetupError: there is no bundle, or a check found something.
    """
    root = environment.root
    file = build_deb(root, root / "dist" / NAME, root / "dist", environment.python)
    say(f"Built {file} ({_mb(file.stat().st_size)} MB)")
    check_deb(file)
    return file


def prove_package(environment: Environment, file: Path) -> Form:
    """Install, use, install again over data, and purge it in a bare root."""
    with _root(environment) as root:
        root.must("apt-get", "update", "-q")
        shutil.copy(file, root.folder / "tmp")
        started = time.monotonic()
        root.install(f"/tmp/{file.name}")  # noqa: S108  # inside the root
        installed = time.monotonic() - started
        program = _inside(root, NAME)
        took = installed + prove(program, picture=_PICTURE, python=environment.python)
        _take_picture(environment, root, "deb")
        before = _files(root)
        root.must("apt-get", "install", "-y", "-q", "--reinstall", f"/tmp/{file.name}")  # noqa: S108
        program.check()
        root.must("apt-get", "purge", "-y", "-q", NAME)
        if not before <= _files(root):
            raise SetupError("Removing the package took files of the user.")
        left = [place for place in ("opt", "usr/bin", "usr/share") if _has_ours(root, place)]
        if left:
            raise SetupError(f"Files of the package are left in {', '.join(left)}.")
        _nothing_left(root)
        return Form("deb", file.stat().st_size, took)


def _has_ours(root: BareRoot, place: str) -> bool:
    return any(NAME in file.name for file in (root.folder / place).rglob("*"))


def _files(root: BareRoot) -> set[Path]:
    return {file for file in (root.folder / _DATA.lstrip("/")).rglob("*") if file.is_file()}


def build_image(environment: Environment, base: str | None) -> tuple[Image, Path]:
    """Build the image over `base`, or over a bare Debian of this machine; save it in dist/.

    Raises:
        SetupError: it cannot be built here, or buildah failed.
    """
    root = environment.root
    files = distributions.build(root, root / "dist", environment.python)
    folder = root / "build" / "image"
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    shutil.copy(_wheel(files, CORE), wheels)
    image = Image(root, folder)
    if base is None:
        options = ["-q", "-d", str(wheels), "-c", str(environment.constraints)]
        environment.pip("download", *options, str(_wheel(files, CORE)))
        image.build(image.make_base(_base(environment)), wheels, has_index=False)
    else:
        image.build(base, wheels)
    file = image.save(root / "dist" / f"{NAME}-{version_of(root)}-image.tar")
    say(f"Built {file} ({_mb(file.stat().st_size)} MB)")
    return image, file


def prove_image(image: Image, file: Path) -> Form:
    """Use the image as a user without rights, on a read-only root."""
    with image.opened() as root:
        program = _inside(root, f"/opt/monitor/bin/{NAME}", data="/data/monitor")
        took = prove(program)
        refused = root.run("touch", "/opt/monitor/a", is_user=True)
        if not refused.returncode:
            raise SetupError("The root of the image can be written.")
        return Form("image", file.stat().st_size, took)


def build_all(environment: Environment) -> int:
    """Make every form, try each out, and print a table; compared with the release before."""
    rows = build_distributions(environment, is_proved=True)
    packed = build_archive(environment)
    rows.append(prove_archive(environment, packed[0]))
    rows.append(prove_package(environment, build_package(environment)))
    rows.append(prove_image(*build_image(environment, None)))
    print(table(rows, tomllib.loads(_SIZES.read_text(encoding="utf-8"))["megabytes"]))
    return 0


def table(rows: Iterable[Form], before: Mapping[str, float]) -> str:
    """Write the forms as a table, in megabytes and seconds."""
    lines = [f"{'form':<32}{'MB':>8}{'before':>8}{'seconds':>9}"]
    for form in rows:
        earlier = f"{before[form.name]:.1f}" if form.name in before else "-"
        lines.append(f"{form.name:<32}{_mb(form.size):>8}{earlier:>8}{form.seconds:>9.1f}")
    return "\n".join(lines)


def _root(environment: Environment) -> AbstractContextManager[BareRoot]:
    return bare_root(_base(environment), environment.root / "build" / "roots" / "trial")


def _base(environment: Environment) -> Path:
    return environment.root / "build" / "roots" / "base"


def _inside(root: BareRoot, command: str, data: str = _DATA) -> Program:
    def start(words: list[str]) -> list[str]:
        return root.command(command, *words, is_user=True)

    seen = root.folder / data.lstrip("/")
    return Program(start, data, seen, {"HOME": str(Path(data).parent)})


def _take_picture(environment: Environment, root: BareRoot, name: str) -> None:
    picture = root.folder / _DATA.lstrip("/") / _PICTURE
    say(f"Picture: {shutil.copy(picture, environment.root / 'build' / f'{name}.png')}")


def _nothing_left(root: BareRoot) -> None:
    deadline = time.monotonic() + 10
    while left := root.processes():
        if time.monotonic() > deadline:
            raise SetupError(f"These processes are left: {', '.join(left)}")
        time.sleep(0.2)


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"
