"""The commands: a module for each group, with options, examples and the functions that run them."""
