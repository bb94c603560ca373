; What TypeScript code does.
