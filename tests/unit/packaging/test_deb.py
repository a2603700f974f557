"""A package of a stand-in for the bundle; `dev.py build --all` makes the real one and uses it."""

import shutil
from pathlib import Path

import pytest

import deb
from distributions import NAME
from environment import ROOT
from system import checked

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps"))), reason="dpkg is Debian's"
)


def _bundle(place: Path) -> Path:
    folder = place / NAME
    (folder / "_internal").mkdir(parents=True)
    shutil.copy(shutil.which("true") or "", folder / NAME)
    (folder / "_internal" / "library.so").symlink_to("library.so.1")
    (folder / "_internal" / "library.so.1").write_text("no library")
    return folder


def _listed(file: Path) -> dict[str, str]:
    """The mode and the owner of each file in a package."""
    shown = checked("dpkg-deb", "--contents", str(file))
    lines = (line.split(maxsplit=5) for line in shown.splitlines())
    return {each[5].split(" -> ")[0]: f"{each[0]} {each[1]}" for each in lines}


def test_a_package_has_the_program_its_command_and_what_a_desktop_reads(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "1").mkdir(mode=0o700)
    packages = [deb.build_deb(ROOT, _bundle(tmp_path / n), tmp_path / f"{n}.d") for n in "01"]
    first, again = packages
    listed = _listed(first)

    assert first.read_bytes() == again.read_bytes()
    assert listed[f"./opt/{NAME}/{NAME}"] == "-rwxr-xr-x root/root"
    assert listed[f"./usr/bin/{NAME}"].startswith("l")
    for place in (
        f"applications/{NAME}.desktop",
        f"applications/{NAME}-open.desktop",
        f"metainfo/{NAME}.metainfo.xml",
        f"mime/packages/{NAME}.xml",
        f"icons/hicolor/scalable/apps/{NAME}.svg",
        f"doc/{NAME}/copyright",
        f"doc/{NAME}/changelog.gz",
        f"man/man1/{NAME}.1.gz",
        f"bash-completion/completions/{NAME}",
    ):
        assert listed[f"./usr/share/{place}"] == "-rw-r--r-- root/root"
    required = checked("dpkg-deb", "--field", str(first), "Depends")
    assert "libc6" in required
    assert "fonts-" in required


def test_no_value_is_left_open_in_the_files_of_the_desktop(tmp_path: Path) -> None:
    file = deb.build_deb(ROOT, _bundle(tmp_path), tmp_path)
    checked("dpkg-deb", "--extract", str(file), str(tmp_path / "x"))
    share = tmp_path / "x" / "usr" / "share"

    for path in [*share.rglob("*.desktop"), *share.rglob("*.xml"), *share.rglob("copyright")]:
        assert "@" not in path.read_text(encoding="utf-8")
    assert f"Exec={NAME} open %f" in (share / f"applications/{NAME}-open.desktop").read_text(
        "utf-8"
    )


def test_a_library_that_the_bundle_brings_is_not_required(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path)
    notice = bundle / "licences" / "system" / "libc6.txt"
    notice.parent.mkdir(parents=True)
    notice.touch()

    assert not any("libc6" in each for each in deb.depends(bundle))
