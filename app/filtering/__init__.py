"""The filter language of the log, exports and the command line."""
