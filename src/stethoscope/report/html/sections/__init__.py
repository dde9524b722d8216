"""The parts of the page, one file per subject; each gives markup, or nothing where it has nothing to say."""
