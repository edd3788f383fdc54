"""Logs and metrics: what the shells report becomes one line and some numbers."""
