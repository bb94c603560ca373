//! Swift: names across files.

use super::{DEFAULT, Family, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::Swift,
    languages: &["swift"],
    package: |_| Some(String::new()),
    members_visible: true,
    ..DEFAULT
};
