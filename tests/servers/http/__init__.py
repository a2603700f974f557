"""The test server over HTTP: both transports, resumable streams, sign-in, and faults."""
