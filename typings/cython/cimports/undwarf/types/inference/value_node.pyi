"""undwarf/types/inference/value_node.pxd"""

from undwarf.types.inference.value_node import Node as Node
