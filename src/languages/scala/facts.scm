; What Scala code does.
