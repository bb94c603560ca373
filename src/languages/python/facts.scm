; What Python code does.
