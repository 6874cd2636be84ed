"""Alembic's entry: migrations run on the connection they are handed, never on one of their own."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
