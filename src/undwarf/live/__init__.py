"""Live systems: sampling and unwinding at once (`record`, `top`), and stacks of processes and core files (`stack`)."""
