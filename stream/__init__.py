"""How documents get in, once: records, sources, batches, the consumer loop, producers."""
