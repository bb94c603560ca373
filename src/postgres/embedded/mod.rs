//! The private cluster of an installation without an own Postgres.
