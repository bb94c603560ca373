; What C# code does.
