//! Rust: names across files.

use super::{DEFAULT, Family, Rules};

pub(super) const RULES: Rules = Rules { family: Family::Rust, languages: &["rust"], ..DEFAULT };
