//! (see lib.rs)

pub mod embedded;
