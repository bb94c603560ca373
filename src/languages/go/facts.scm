; What Go code does.
