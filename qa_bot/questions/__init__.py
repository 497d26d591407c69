"""Bundled question sets; README.md beside this file describes them."""
