"""Isolation of methods: environments, workers, and the host's side of the protocol."""
