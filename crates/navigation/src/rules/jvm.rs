//! Java, Kotlin and Scala: names across files.

use super::{DEFAULT, Family, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::Jvm,
    languages: &["java", "kotlin", "scala"],
    package: |file| Some(file.interface.package.clone().unwrap_or_default()),
    members_visible: true,
    ..DEFAULT
};
