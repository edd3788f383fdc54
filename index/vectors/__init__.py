"""Vector indexes beside the store: what they hold, how they follow, how their hits are merged."""
