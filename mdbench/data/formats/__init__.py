"""The kinds of files that data are read from; `mdbench.data.readers` has their endings."""
