"""Qt item models over the core: QtCore only."""
