"""New calls: method, arguments and options."""
