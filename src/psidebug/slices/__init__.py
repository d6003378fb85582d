"""What rows have in common: conditions on the columns of the user, the search for them, and their words."""
