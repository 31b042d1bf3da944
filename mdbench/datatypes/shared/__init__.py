"""What data types have in common; a package, and so no data type itself."""
