"""The application without a front end: servers, calls, jobs, resuming, questions, recording."""
