"""The command palette: everything that can be chosen by name, found by a few of its letters."""
