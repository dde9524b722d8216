"""The numbers of words and marks that have a meaning of their own."""

FILL, START, STOP = 0, 1, 2

SPOKEN_SIZE = 98  # words, figures and signs on the side of the speaker
WRITTEN_SIZE = 16
MANNERS = 4
LONGEST = 24
