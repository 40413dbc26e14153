"""Data analysis: programs, answers, clean tables and models, judged on data never shown."""
