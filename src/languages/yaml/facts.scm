; What YAML code does.
