"""Results: the parts of a job's reply, shown, copied, saved and opened."""
