"""undwarf/types/inference/nodes.pxd"""

from undwarf.types.inference.nodes import Node as Node
