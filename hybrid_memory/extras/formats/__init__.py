"""Files that are not markdown: org-mode, reStructuredText, plain text, PDF and DOCX."""
