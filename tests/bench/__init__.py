"""The figures that the project holds itself to: ``python -m tests.bench [--only AREA]``."""
