"""What is known, and since when: analysis, exact counts, communities, store, snapshots."""
