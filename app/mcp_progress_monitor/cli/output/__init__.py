"""Output of commands: results, progress, `--json` events."""
