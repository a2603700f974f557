"""What commands print: results, progress, `--json` events."""
