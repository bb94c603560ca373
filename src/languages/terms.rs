//! The words a text says.
