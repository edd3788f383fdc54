"""Other systems as commands for ``tidegraph evaluate --judge --system``; see docs/comparison.md.

Each module stands alone: it is run by the interpreter of the environment that the other system is
installed in, and imports nothing of Tidegraph.
"""
