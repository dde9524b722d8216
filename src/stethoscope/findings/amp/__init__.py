"""The GradScaler and half precision."""
