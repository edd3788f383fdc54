"""RSS and Atom: fetched within limits, read without trust, published as documents."""
