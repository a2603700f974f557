"""The window: panes of Qt over the engine. Rooms by feature; the application joins them."""
