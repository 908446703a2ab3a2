"""Files that are not markdown: org-mode, reStructuredText, plain text, PDF, DOCX, ODT, EPUB,
HTML and drawings."""
