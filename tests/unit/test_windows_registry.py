"""The calls of Windows' own registry module, with a stand-in for that module."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from mcp_progress_monitor.windows_registry import WindowsRegistry


class FakeWinreg(ModuleType):
    """Keys as Windows keeps them: one with keys below it cannot be deleted."""

    HKEY_CURRENT_USER = "HKCU"
    REG_SZ = 1
    KEY_SET_VALUE = 2

    def __init__(self) -> None:
        super().__init__("winreg")
        self.keys: dict[str, dict[str, str]] = {}

    @contextmanager
    def CreateKey(self, _root: str, key: str) -> Iterator[str]:
        parts = key.split("\\")
        for length in range(1, len(parts) + 1):
            self.keys.setdefault("\\".join(parts[:length]), {})
        yield key

    @contextmanager
    def OpenKey(self, _root: str, key: str, _reserved: int = 0, _access: int = 0) -> Iterator[str]:
        self._must_be(key)
        yield key

    def SetValueEx(self, key: str, name: str, _reserved: int, _kind: int, value: str) -> None:
        self.keys[key][name] = value

    def QueryValue(self, _root: str, key: str) -> str:
        self._must_be(key)
        return self.keys[key].get("", "")

    def QueryInfoKey(self, key: str) -> tuple[int, int, int]:
        return len(self._below(key)), len(self.keys[key]), 0

    def EnumKey(self, key: str, place: int) -> str:
        return self._below(key)[place]

    def DeleteKey(self, _root: str, key: str) -> None:
        self._must_be(key)
        if self._below(key):
            raise PermissionError("Access is denied")
        del self.keys[key]

    def DeleteValue(self, key: str, name: str) -> None:
        if name not in self.keys[key]:
            raise FileNotFoundError(name)
        del self.keys[key][name]

    def _must_be(self, key: str) -> None:
        if key not in self.keys:
            raise FileNotFoundError(key)

    def _below(self, key: str) -> list[str]:
        prefix = f"{key}\\"
        inner = [name.removeprefix(prefix) for name in self.keys if name.startswith(prefix)]
        return [name for name in inner if "\\" not in name]


@pytest.fixture
def winreg(monkeypatch: pytest.MonkeyPatch) -> FakeWinreg:
    made = FakeWinreg()
    monkeypatch.setitem(sys.modules, "winreg", made)
    return made


def test_a_key_comes_and_goes_with_all_below_it(winreg: FakeWinreg) -> None:
    registry = WindowsRegistry()
    registry.set_value("Software\\a\\b\\c", "", "deep")
    assert registry.value("Software\\a\\b\\c") == "deep"
    assert registry.delete("Software\\a")
    assert list(winreg.keys) == ["Software"]
    assert not registry.delete("Software\\a")
    assert registry.value("Software\\a") is None


@pytest.mark.usefixtures("winreg")
def test_one_value_is_deleted_and_the_others_stay() -> None:
    registry = WindowsRegistry()
    registry.set_value("a", "one", "1")
    registry.set_value("a", "", "kept")
    assert registry.delete_value("a", "one")
    assert not registry.delete_value("a", "one")
    assert not registry.delete_value("none", "one")
    assert registry.value("a") == "kept"
