"""Ways to write a program again that leave what it does as it is, a file each with a function `rewrite`."""
