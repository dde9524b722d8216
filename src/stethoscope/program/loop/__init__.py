"""The training loop: its moves in their order, and what goes wrong between them."""
