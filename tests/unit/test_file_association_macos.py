"""What a user of macOS is shown."""

from mcp_progress_monitor.file_association import MacosAssociation


def test_the_way_by_hand_names_the_command_and_changes_nothing() -> None:
    outcome = MacosAssociation(["/opt/my tools/monitor"]).add()
    assert outcome.done == ()
    assert "exec '/opt/my tools/monitor' open \"$1\"" in outcome.as_text()
    assert ".mcprec" in outcome.as_text()


def test_undoing_is_reported_as_well() -> None:
    assert "Trash" in MacosAssociation(["monitor"]).remove().as_text()
