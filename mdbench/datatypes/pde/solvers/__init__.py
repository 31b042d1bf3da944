"""How the fields of the data type pde are made."""
