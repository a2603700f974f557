"""The domain: facts become jobs. Pure; time is an argument."""
