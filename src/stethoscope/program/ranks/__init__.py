"""What the processes of a distributed training decide together or alone."""
