"""What all data types share whose answers are equations: evaluation, selection, terms, files."""
