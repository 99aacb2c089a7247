"""C library functions as Cython offers them to pure-Python code."""
