"""What the dashboard asks of the other rooms: one file each, the one place where that room is joined."""
