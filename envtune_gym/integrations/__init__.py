"""Bridges to outside frameworks, one subject a file; each is imported only by those who use it."""
