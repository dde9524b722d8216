"""What every reader of a log needs: the head of a file, its bytes as a stream, numbers, points and events."""
