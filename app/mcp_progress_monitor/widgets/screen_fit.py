"""Windows no larger than the screen, and panes that scroll where a screen is too small for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

_FRAME: Final = QSize(2, 40)
"""What a desktop adds around a window: above all its title bar."""
_UNSEEN: Final = QSize(1920, 1080)
_LEAST: Final = QSize(120, 80)


def fit_to_screen(window: QWidget, size: QSize) -> None:
    """Give a window its first size: `size`, or what the screen has room for."""
    window.resize(size.boundedTo(room(window)))


def room(widget: QWidget) -> QSize:
    """The largest size of a window on the screen of `widget`, in its own units.

    Qt's offscreen platform has a screen of 800 by 800 without a name, which nobody looks at:
    pictures taken there are as large as they are elsewhere.
    """
    screen = widget.screen()
    return screen.availableSize() - _FRAME if screen.name() else _UNSEEN


class ScreenFit(QScrollArea):
    """Asks for as much room as `content` needs, but for no more than the screen has beside `rest`.

    On most screens nothing is seen of it. On a small one, or at a large scale, it scrolls; without
    it the window would be larger than the screen, with its lowest controls out of reach.
    """

    def __init__(self, content: QWidget, rest: QSize, parent: QWidget) -> None:
        super().__init__(parent)
        self.content = content
        self._rest = rest
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setWidget(content)
        self.setSizePolicy(content.sizePolicy())

    def minimumSizeHint(self) -> QSize:
        """The content's, as far as the screen has room for it."""
        if self.widget() is None:  # deleted before this
            return super().minimumSizeHint()
        needed = self.content.minimumSizeHint().expandedTo(self.content.minimumSize())
        return needed.boundedTo((room(self) - self._rest).expandedTo(_LEAST))

    def sizeHint(self) -> QSize:
        """The content's."""
        return super().sizeHint() if self.widget() is None else self.content.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let a window that asks again know what is needed by now."""
        super().resizeEvent(event)
        self.updateGeometry()
