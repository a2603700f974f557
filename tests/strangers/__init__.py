"""A campaign against servers that nobody here wrote."""
