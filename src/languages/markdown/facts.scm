; What Markdown code does.
