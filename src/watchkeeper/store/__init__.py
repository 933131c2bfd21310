"""The memory: tables and statements, and the only importer of SQLAlchemy and of the drivers."""
