"""What is seen of a step on the device, and how a bad one is kept from the weights."""
