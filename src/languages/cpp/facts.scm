; What C++ code does.
