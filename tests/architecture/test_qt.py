"""What holds of Qt and its Python binding: the pair installed, and the names we give methods."""

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator

from PySide6.QtCore import QObject

from tests.architecture.source import APP, ROOT

_CAMEL = re.compile(r"_*[a-z]+[A-Z]\w*")

_SET_TEXT = """
import sys
from PySide6.QtWidgets import QApplication, QLabel
application = QApplication([])
label = QLabel()
for number in range(20_000):
    label.setText("a")
    label.setText("b")
"""


def test_the_installed_binding_does_not_lose_references_to_none() -> None:
    # PySide6 6.12.0 on Python 3.11 drops one per call, and the interpreter dies.
    done = subprocess.run(
        [sys.executable, "-c", _SET_TEXT], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def _camel_case_of_our_own(owner: type) -> list[str]:
    """Name the camelCase methods of a class that override nothing of Qt's."""
    bases = owner.__mro__[1:]
    return [
        f"{owner.__module__}.{owner.__qualname__}.{name}"
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and _CAMEL.fullmatch(name)
        if not any(hasattr(base, name) for base in bases)
    ]


def _classes() -> Iterator[type]:
    for file in sorted((APP / "gui").rglob("*.py")):
        name = ".".join(file.relative_to(APP.parent).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        for _, value in inspect.getmembers(module, inspect.isclass):
            if value.__module__ == module.__name__:
                yield value


def test_only_overrides_of_qt_are_in_camel_case() -> None:
    classes = list(_classes())

    assert classes
    assert [name for owner in classes for name in _camel_case_of_our_own(owner)] == []


def test_a_camel_case_method_of_our_own_is_found() -> None:
    class Sample(QObject):
        def timerEvent(self) -> None: ...  # type: ignore[override]

        def ourOwn(self) -> None: ...

    assert [n.rpartition(".")[2] for n in _camel_case_of_our_own(Sample)] == ["ourOwn"]
