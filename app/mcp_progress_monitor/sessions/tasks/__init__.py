"""Tasks on servers: follow to their end, list, cancel."""
