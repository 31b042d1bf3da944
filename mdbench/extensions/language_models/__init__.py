"""Language models that methods may ask: one endpoint, counted, written down, and replayed."""

PROMPTS = ("anon", "named", "prior", "wrong-prior")
"""What a prompt may show of a problem: see `mdbench.extensions.language_models.views`."""
