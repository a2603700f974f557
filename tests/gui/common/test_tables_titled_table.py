"""Small tables have their titles from the left, and no columns of their own within a row."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt

from mcp_progress_monitor.gui.common.tables import TitledTable


class OneRow(TitledTable):
    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        return 0 if parent.isValid() else 1


def test_titles_stand_over_their_columns_from_the_left() -> None:
    table = OneRow(("Id", "Status"))
    across, role = Qt.Orientation.Horizontal, Qt.ItemDataRole
    assert table.columnCount() == 2
    assert [table.headerData(section, across) for section in range(3)] == ["Id", "Status", None]
    left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    assert table.headerData(1, across, role.TextAlignmentRole) == left
    assert table.headerData(0, Qt.Orientation.Vertical) is None


def test_rows_have_no_columns_below_them() -> None:
    table = OneRow(("Id",))
    assert table.columnCount(table.index(0, 0)) == 0
