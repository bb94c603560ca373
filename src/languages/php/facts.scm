; What PHP code does.
