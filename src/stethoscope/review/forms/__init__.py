"""The forms in which documents propose changes: one file per form, found by folder.

A module holds `read(part)`, which gives the proposals of one part of a document, and nothing where the part
has another form.
"""
