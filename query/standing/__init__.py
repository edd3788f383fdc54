"""Questions that stay: asked again by every generation that touches them."""
