"""What a shell offers when Tab is pressed."""
