"""Communities of concepts: the hierarchy, how it is found, how its ids last."""
