//! PHP: names across files.

use super::{DEFAULT, Family, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::Php,
    languages: &["php"],
    package: |file| Some(file.interface.package.clone().unwrap_or_default()),
    separator: "\\",
    ..DEFAULT
};
