"""Copies and decoys with known answers, made from the user's own items."""
