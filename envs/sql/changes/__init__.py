"""Changes: SQL scripts that are judged by the state in which they leave the database."""
