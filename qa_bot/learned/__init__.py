"""Fitted parameters with their provenance, and the commands that make them."""
