"""Language models that methods may ask: one endpoint, counted, written down, and replayed."""
