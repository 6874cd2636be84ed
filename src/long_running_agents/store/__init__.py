"""The only place with SQL: rows in, domain objects out."""
