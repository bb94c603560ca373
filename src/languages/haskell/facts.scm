; What Haskell code does.
