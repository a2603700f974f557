"""Opening recordings with a double click: how each system is told, and how it is taken back."""
