"""Tests of the demo server over HTTP."""
