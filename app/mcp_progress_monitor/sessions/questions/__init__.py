"""Server requests: elicitation, sampling, roots and multi-round-trips, and their answers."""
