"""The exact counts: integers under signed deltas, and the weights read from them."""
