"""Compiled loops of the dynamic communities. Only ``index.communities`` calls them."""
