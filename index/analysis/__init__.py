"""From a document's text to chunks, concepts, facets and vectors."""
