"""The findings: what servers and clients did wrong, by rule."""
