; What Lua code does.
