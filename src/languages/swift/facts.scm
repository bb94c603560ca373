; What Swift code does.
