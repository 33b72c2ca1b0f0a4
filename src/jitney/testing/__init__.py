"""Helpers for testing programs and the compiler itself."""
