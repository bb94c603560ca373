; What Zig code does.
