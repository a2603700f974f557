"""Panes: they know models, not sessions, and speak to the shell by signals."""
