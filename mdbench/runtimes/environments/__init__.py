"""How the environments of methods are made: virtual environments and container images."""
