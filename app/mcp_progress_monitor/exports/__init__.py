"""Exports of messages, ticks and reports, without secrets unless requested."""
