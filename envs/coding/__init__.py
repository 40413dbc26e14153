"""`execgym/Coding-v0`: Python functions and programs, judged by hidden tests."""
