"""undwarf/arrow"""
