"""The page at ``/``: plain files, served as they are; nothing to build, nothing from elsewhere."""
