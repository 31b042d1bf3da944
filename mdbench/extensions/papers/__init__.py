"""Tables for papers, and those that papers have published: `export`."""
