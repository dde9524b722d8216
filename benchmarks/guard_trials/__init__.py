"""What the fault matrix of Guard is made of: tasks, faults, watchers, and one training loop."""
