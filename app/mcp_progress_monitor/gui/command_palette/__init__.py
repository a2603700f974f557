"""The command palette: commands found by a few letters of their names."""
