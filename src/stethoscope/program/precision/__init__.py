"""Which expressions run in half precision, and what becomes of them there."""
