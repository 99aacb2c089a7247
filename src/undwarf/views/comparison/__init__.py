"""Two sides of recordings compared: what changed, by how much, and whether chance explains it.

``compare.py`` computes a :class:`~undwarf.views.comparison.model.Comparison` from profiles. Of its parts,
``matching.py`` finds the functions of one side on the other, ``quantities.py`` has the weights by recording and block
of time, ``variance.py`` and ``distributions.py`` the statistics, ``speed.py`` tells a change of everything from
changes of single functions, ``conditions.py`` evaluates what a gate asks.
"""
