; What CSS code does.
