"""Laws of physics, known by samples of their variables."""
