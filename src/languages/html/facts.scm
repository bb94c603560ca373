; What HTML code does.
