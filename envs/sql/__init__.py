"""The SQL domain: questions about SQLite databases, answered by queries that are executed.

`env` is the environment and `judge` its judges. `tasks` generates questions over our own schemas;
`public` reads Spider and Defog. `exams`, `gold` and `reference` hold what must stay hidden: only
trusted code may import them.
"""
