"""Tables are aligned, and safe to print."""

from mcp_progress_monitor.cli.output.stdout import aligned


def test_columns_stand_below_each_other_however_wide_their_letters_are() -> None:
    table = aligned(("A", "B"), [("日本", "x"), ("long one", "y"), ("\x1b[2J", "z")])
    assert table.splitlines() == ["A         B", "日本      x", "long one  y", r"\x1b[2J   z"]


def test_all_columns_but_the_last_are_cut() -> None:
    table = aligned(("A", "B"), [("x" * 100, "y" * 100)], widest=10)
    assert table.splitlines()[1] == f"{'x' * 9}…  {'y' * 100}"
