"""undwarf/perfdata/column_store.pxd"""

from undwarf.perfdata.column_store import ColumnStore as ColumnStore
