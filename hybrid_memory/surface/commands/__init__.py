"""The commands: a module for each group of them, with their options, their examples and what runs
them.
"""
