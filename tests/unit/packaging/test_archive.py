import os
import tarfile
import zipfile
from pathlib import Path

from archive import tarred, zipped

AT = 1_800_000_000


def _folder(place: Path, mode: int, at: int) -> Path:
    """The same files, as another build leaves them."""
    folder = place / "program"
    (folder / "lib").mkdir(parents=True)
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(mode)
    (folder / "lib" / "a.so.1").write_text("a")
    (folder / "lib" / "a.so").symlink_to("a.so.1")
    os.utime(folder / "run", (at, at))
    return folder


def test_the_same_files_give_the_same_archive_whenever_they_were_made(tmp_path: Path) -> None:
    for number, (mode, at) in enumerate([(0o755, 1_700_000_000), (0o700, 1_600_000_000)]):
        folder = _folder(tmp_path / str(number), mode, at)
        tarred(folder, tmp_path / f"{number}.tar.xz", AT)
        zipped(folder, tmp_path / f"{number}.zip", AT)

    for suffix in ("tar.xz", "zip"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()
    with tarfile.open(tmp_path / "0.tar.xz") as opened:
        assert opened.getmember("program/lib/a.so").linkname == "a.so.1"
        assert opened.getmember("program/run").mode == 0o755
    with zipfile.ZipFile(tmp_path / "0.zip") as packed:
        assert packed.read("program/run") == b"#!/bin/sh\n"
