"""The demo's sample news stream, invented throughout, and questions that it answers."""
