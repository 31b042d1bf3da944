"""For authors of methods: a folder to begin with, and the check of the contract."""
