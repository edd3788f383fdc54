"""A language model in a search: refinement, relevance tests, the words of the answer."""
