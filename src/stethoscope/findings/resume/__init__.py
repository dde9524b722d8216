"""Rules about what a checkpoint keeps and what a resumed run gets back."""
