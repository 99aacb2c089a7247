"""What the walk must know of x86-64."""
