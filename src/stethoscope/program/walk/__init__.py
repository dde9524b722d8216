"""Following values through a program without running it: what every walk needs."""
