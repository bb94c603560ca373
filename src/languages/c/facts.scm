; What C code does.
