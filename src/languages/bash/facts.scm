; What Bash code does.
