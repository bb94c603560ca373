//! Ruby: names across files.

use super::{DEFAULT, Family, Merging, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::Ruby,
    languages: &["ruby"],
    package: |_| Some(String::new()),
    separator: "::",
    members_visible: true,
    merging: Merging::InPackage,
    ..DEFAULT
};
