; What JSON code does.
