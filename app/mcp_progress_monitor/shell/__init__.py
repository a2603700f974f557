"""The composition root: builds each object once, wires panes to the monitor, owns the tasks."""
