"""How a question is answered: ranking, lazy search, claims, answers, the HTTP service."""
