"""Forms made from a JSON Schema."""
