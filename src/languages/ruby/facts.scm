; What Ruby code does.
