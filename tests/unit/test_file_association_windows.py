"""What is written to the registry, with a stand-in for it."""

from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.file_association import WindowsAssociation, windowless

COMMAND = ["C:\\Program Files\\Python\\pythonw.exe", "-P", "-c", "run()"]
ENDING = "Software\\Classes\\.mcprec"
TYPE = "Software\\Classes\\McpProgressMonitor.Recording"


class FakeRegistry:
    """Keeps keys with their values, as `HKEY_CURRENT_USER` does."""

    def __init__(self) -> None:
        self.keys: dict[str, dict[str, str]] = {}
        self.announced = 0
        self.refuses = False

    def value(self, key: str) -> str | None:
        return self.keys.get(key, {}).get("")

    def set_value(self, key: str, name: str, value: str) -> None:
        if self.refuses:
            raise PermissionError("Access is denied")
        self.keys.setdefault(key, {})[name] = value

    def delete(self, key: str) -> bool:
        gone = [name for name in self.keys if name == key or name.startswith(f"{key}\\")]
        for name in gone:
            del self.keys[name]
        return bool(gone)

    def delete_value(self, key: str, name: str) -> bool:
        return self.keys.get(key, {}).pop(name, None) is not None

    def announce(self) -> None:
        self.announced += 1


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


def test_the_ending_leads_to_the_command_with_the_file_in_quotes(registry: FakeRegistry) -> None:
    outcome = WindowsAssociation(registry, COMMAND).add()
    assert registry.value(ENDING) == TYPE.rpartition("\\")[2]
    command = registry.value(f"{TYPE}\\shell\\open\\command")
    assert command == '"C:\\Program Files\\Python\\pythonw.exe" -P -c run() open "%1"'
    assert registry.value(f"{TYPE}\\DefaultIcon") is not None
    assert registry.announced == 1
    assert TYPE in outcome.as_text()


def test_removing_takes_back_all_of_it(registry: FakeRegistry) -> None:
    association = WindowsAssociation(registry, COMMAND)
    association.add()
    outcome = association.remove()
    assert registry.keys == {}
    assert len(outcome.done) == 2
    assert association.remove().done == ("No association to remove.",)


def test_an_ending_that_another_program_took_over_stays_its(registry: FakeRegistry) -> None:
    association = WindowsAssociation(registry, COMMAND)
    association.add()
    registry.set_value(ENDING, "", "Other.Program")
    association.remove()
    assert registry.value(ENDING) == "Other.Program"
    assert registry.keys[f"{ENDING}\\OpenWithProgids"] == {}


def test_a_refusal_is_reported_with_a_message(registry: FakeRegistry) -> None:
    registry.refuses = True
    with pytest.raises(UserError, match="registry denies"):
        WindowsAssociation(registry, COMMAND).add()


def test_a_python_without_console_is_taken_where_there_is_one(tmp_path: Path) -> None:
    command = [str(tmp_path / "python.exe"), "-P", "-c", "run()"]
    assert windowless(command) == command
    quiet = tmp_path / "pythonw.exe"
    quiet.touch()
    assert windowless(command) == [str(quiet), "-P", "-c", "run()"]
    alone = [str(tmp_path / "frozen.exe")]
    assert windowless(alone) == alone
