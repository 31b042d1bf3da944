"""How a method is isolated and spoken to: environments, workers and the host's protocol."""
