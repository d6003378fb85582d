"""Which cause is it? Plants of every kind in five tables, and which tool names them."""
