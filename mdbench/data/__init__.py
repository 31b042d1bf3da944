"""Arrays: files, noise, derivatives, splits, and the cache of what was generated."""
