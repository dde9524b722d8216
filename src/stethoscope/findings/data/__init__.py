"""Rules about the data that training sees."""
