"""New calls: what to call, with which arguments, and how."""
