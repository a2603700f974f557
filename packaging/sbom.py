"""The bill of materials of a bundle: what it contains, as CycloneDX in JSON.

    python packaging/sbom.py FILE PYTHON

It runs in the project's own environment, which has the library; PYTHON is the interpreter of the
environment that the bundle is made in. Equal contents make equal files.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from licences import ROOTS, Content, contents

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMESPACE: Final = uuid.UUID("8a0d5c5e-3f0b-4b5c-9a39-4c0d1b1f6a52")
"""Of serial numbers, which are made from what they number."""


def write(file: Path, python: Path) -> None:
    """Write the bill of materials of what the program needs in the environment of `python`."""
    listed = contents(python)
    components = [_component(each) for each in listed if each.name not in ROOTS]
    program = next(_component(each) for each in listed if each.name in ROOTS)
    program.type = ComponentType.APPLICATION
    components.append(_python(python))
    bom = Bom(components=components)
    bom.metadata.component = program
    named = " ".join(sorted(str(part.bom_ref.value) for part in (program, *components)))
    bom.serial_number = uuid.uuid5(_NAMESPACE, named)
    bom.register_dependency(program, components)
    bom.metadata.timestamp = None  # type: ignore[assignment]  # else no two files were equal
    file.parent.mkdir(parents=True, exist_ok=True)
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    file.write_text(text + "\n", encoding="utf-8", newline="\n")


def _component(content: Content) -> Component:
    url = PackageURL("pypi", name=content.name, version=content.version)
    licences = [LicenseFactory().make_from_string(content.licence)] if content.licence else []
    pages = (
        [ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(content.url))]
        if content.url
        else []
    )
    return Component(
        type=ComponentType.LIBRARY,
        name=content.name,
        version=content.version,
        description=content.summary or None,
        licenses=licences,
        purl=url,
        bom_ref=str(url),
        external_references=pages,
    )


def _python(python: Path) -> Component:
    command = [str(python), "-c", "import platform; print(platform.python_version())"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    version = printed.stdout.strip()
    return Component(
        type=ComponentType.PLATFORM,
        name="CPython",
        version=version,
        licenses=[LicenseFactory().make_from_string("PSF-2.0")],
        purl=PackageURL("generic", name="cpython", version=version),
        bom_ref=f"cpython@{version}",
    )


def main(arguments: Sequence[str]) -> int:
    """Write the file that is named for the environment of an interpreter."""
    file, python = map(Path, arguments)
    write(file, python)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
