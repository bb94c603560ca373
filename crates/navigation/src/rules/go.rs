//! Go: names across files.

use super::{DEFAULT, Family, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::Go,
    languages: &["go"],
    package: |file| Some(crate::paths::folder(&file.path).to_owned()),
    separator: "/",
    ..DEFAULT
};
