"""The query service: questions, documents, communities and status over HTTP, and the page."""
