"""The environments of methods: virtual environments and container images."""
