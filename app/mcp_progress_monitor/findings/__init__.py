"""Rules as data: what the protocol asks for, and what was found to break it."""
