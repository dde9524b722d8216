"""Edits to files: one module per file format. A file is never written anew: spans are spliced.

A format's module holds SYNTAX, `written(value, before)`, which gives a value as such a file writes it, and
`entry(setting, text)`, which gives the span of a whole entry, its key included, so that it can be taken out.
Each may answer None: what cannot be said in a format, or stands in no place of its own, is not edited.
"""
