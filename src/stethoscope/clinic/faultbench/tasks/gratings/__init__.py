"""An image classifier with batch norm."""
