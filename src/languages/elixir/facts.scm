; What Elixir code does.
