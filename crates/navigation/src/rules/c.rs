//! C and C++: names across files.

use super::{DEFAULT, Family, Merging, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::C,
    languages: &["c", "cpp"],
    package: |_| Some(String::new()),
    in_package: |_, symbol| symbol.exported,
    separator: "::",
    members_visible: true,
    stars_pass_on: true,
    merging: Merging::InPackage,
    ..DEFAULT
};
