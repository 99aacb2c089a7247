# constants of kernels: the build writes the .pxd beside this file
"""What the walk has in place of the number of a rule."""

RULE_NO = 0xFFFFFFFF
"""The image has no rule for the address."""
RULE_UNMAPPED = 0xFFFFFFFE
"""The address is in no executable mapping."""
RULE_NO_FILE = 0xFFFFFFFD
"""The mapped file is missing, or another build."""
RULE_LIMIT = 0xFFFFFFF0
"""Numbers of rules are below it."""
