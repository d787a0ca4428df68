"""The stories: what a person asks for, as named steps that join the rooms. Only these know the order."""
