"""Panes of a window in a test, all there from the beginning."""

from collections.abc import Callable


class Made:
    """Stands for `shell.late_panes.Late` where the pane is there."""

    def when_made(self, join: Callable[[], None]) -> None:
        """Call `join` at once."""
        join()


class Panes:
    """Stands for `shell.late_panes.LatePanes`."""

    def __init__(self) -> None:
        self.job = self.stderr = Made()
