"""The report of a run that goes on, served to a browser: `watch`."""
