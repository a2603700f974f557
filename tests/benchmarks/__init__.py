"""Benchmarks: figures, not tests. ``python3 packaging/dev.py bench [NAME…] [--json]``."""
