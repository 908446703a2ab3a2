"""What the engines have in common, by what each of them has of its own."""
