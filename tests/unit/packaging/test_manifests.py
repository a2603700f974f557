"""Package managers get the address and checksum of the files that were built."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

import manifests
from release import SUMS, version_of
from system import SetupError
from tests.patience import PATIENCE_S


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle for each system."""
    monkeypatch.setattr(manifests, "source", lambda _: "https://example.com/monitor")
    for end in manifests.BUNDLES.values():
        (tmp_path / f"{manifests.NAME}-{version_of()}-{end}").write_text(end)
    return tmp_path


def test_manifests_have_the_address_and_checksum_of_each_bundle(built: Path) -> None:
    assert manifests.write(built) == 0
    formula = (built / "manifests" / "homebrew" / "mcp-progress-monitor.rb").read_text("utf-8")
    installer = f"{manifests.IDENTIFIER}.installer.yaml"
    winget = (built / "manifests" / "winget" / installer).read_text("utf-8")
    texts = {"linux_x86_64": formula, "macos_arm64": formula, "windows_x86_64": winget}
    for system, end in manifests.BUNDLES.items():
        name = f"{manifests.NAME}-{version_of()}-{end}"
        digest = hashlib.sha256(end.encode()).hexdigest()
        assert f"/monitor/releases/download/v{version_of()}/{name}" in texts[system]
        assert digest in texts[system]
        assert f"{digest}  {name}\n" in (built / SUMS).read_text()
    assert "_sha256" not in formula + winget


@pytest.mark.skipif(shutil.which("ruby") is None, reason="no Ruby here")
def test_the_formula_is_ruby(built: Path) -> None:
    manifests.write(built)
    formula = str(built / "manifests" / "homebrew" / "mcp-progress-monitor.rb")
    command = ["ruby", "-c", formula]
    ran = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_missing_bundle_is_named(built: Path) -> None:
    next(built.glob("*windows*")).unlink()
    with pytest.raises(SetupError, match=r"windows-x86_64\.zip is missing"):
        manifests.write(built)
