"""Widgets and helpers that several rooms use; none of them knows a room."""
