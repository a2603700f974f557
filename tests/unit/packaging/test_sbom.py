"""The bill of materials lists what a bundle contains, and nothing else."""

import json
import sys
from pathlib import Path

import sbom


def test_what_the_program_needs_is_listed_with_its_licence(tmp_path: Path) -> None:
    file = tmp_path / "sbom.cdx.json"
    assert sbom.main([str(file), sys.executable]) == 0
    listed = json.loads(file.read_text("utf-8"))
    assert listed["specVersion"] == "1.6"
    parts = {part["name"]: part for part in listed["components"]}
    assert {"CPython", "pyside6-essentials", "pydantic", "pyjwt"} <= parts.keys()
    assert not {"pytest", "mypy", "cyclonedx-python-lib"} & parts.keys()
    assert parts["pydantic"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert parts["pydantic"]["purl"].startswith("pkg:pypi/pydantic@")
    assert listed["metadata"]["component"]["type"] == "application"
    assert "timestamp" not in listed["metadata"]
