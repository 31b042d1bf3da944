"""Where a method stands among those of the editions."""
