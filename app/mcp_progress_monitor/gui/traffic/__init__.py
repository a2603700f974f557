"""Every JSON-RPC message in one timeline: filtered, read in full, annotated."""
