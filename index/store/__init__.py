"""The durable truth: one SQLite file, one writer, one transaction for one generation."""
