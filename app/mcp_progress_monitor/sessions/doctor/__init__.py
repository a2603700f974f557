"""Diagnoses servers that cannot be used: causes with their evidence."""
