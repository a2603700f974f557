"""The settings dialog: its pages, what they change, and the list of keys."""
