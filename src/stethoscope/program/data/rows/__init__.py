"""Which rows of a table each name of a program holds, tried on a table of a few thousand rows."""
