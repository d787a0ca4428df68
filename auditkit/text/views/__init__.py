"""Readings of a text in which a disguise is undone: look-alike letters, leet, spaced letters, encodings, wrappers.

`signs` says which rows are worth reading again, each module undoes some kinds of disguise, `catalogue` names the views
and applies them, one after another where disguises are nested. What each undoes and misses: docs/views.md.
"""
