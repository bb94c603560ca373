//! (see lib.rs)

pub mod terms;
