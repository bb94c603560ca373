//! What the operator chose: defaults < config file < environment < flags, read once at start.
//!
//! This is the only reader of the environment. Every bound of the product is a named field here
//! with its unit last; `defaults.toml` beside this file is the documentation of each.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod layout;
mod load;
mod sections;

pub use layout::{Layout, default_home};
pub use load::{ConfigError, Overrides, failpoint, is_dumb_terminal, is_set, lie, load};
pub use sections::*;
