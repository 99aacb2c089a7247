"""What still runs: samples taken and unwound at once, stacks of processes and of core files."""
