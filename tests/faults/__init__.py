"""Faults: kills of real processes, and what they leave."""
