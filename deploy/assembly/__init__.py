"""The only place that constructs adapters: from settings to parts that fit together.

``streams`` for what publishes and reads, ``writing`` for the process that writes the index,
``serving`` for what answers. The first is light to import, the others load spaCy.
"""
