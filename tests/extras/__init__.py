"""Tests of what the core works without."""
