//! Tests of exact search.
