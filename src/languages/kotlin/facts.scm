; What Kotlin code does.
