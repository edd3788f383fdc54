"""A store's twin on another host: what the one gives out, and how the other takes it."""
