from undwarf.perfdata.side_records cimport SideRecords
