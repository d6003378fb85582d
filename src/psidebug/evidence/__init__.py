"""What the labels should be, by everyone who can be asked, and how the given ones came to differ from that."""
