"""The job list, the pane of one job, and the actions on jobs."""
