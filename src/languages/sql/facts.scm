; What SQL code does.
