; What Java code does.
