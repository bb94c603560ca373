; What JavaScript code does.
