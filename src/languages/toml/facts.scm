; What TOML code does.
