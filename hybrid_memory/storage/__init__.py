"""What the rest of the program may ask of a store, and the engines that answer."""
