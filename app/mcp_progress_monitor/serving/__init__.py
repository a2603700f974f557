"""A recording in the place of its server."""
