"""Resuming: what is saved of resumable jobs, and how they are gone on with, by hand or alone."""
