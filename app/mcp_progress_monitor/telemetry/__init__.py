"""Sends jobs, messages and findings as OpenTelemetry signals, while they happen."""
