"""What a training is fed with: its loaders, its order, and how its samples are made."""
