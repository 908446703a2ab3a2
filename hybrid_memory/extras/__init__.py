"""What the core works without, a folder each. A table of names leads to each of them; the core
imports none.
"""
