"""Rules about the precision that training runs in."""
