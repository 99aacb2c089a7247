"""Pages of recordings: their parts, computed when they are asked for, and a server on loopback that offers them."""
