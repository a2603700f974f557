"""Saved servers, and the configurations of other clients."""
