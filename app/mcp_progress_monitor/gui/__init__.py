"""The window: Qt panes over the engine. One room for each feature; the application joins them."""
