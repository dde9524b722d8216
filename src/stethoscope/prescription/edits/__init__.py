"""Edits to files: one module per file format. A file is never written anew: spans are spliced."""
