//! C#: names across files.

use super::{DEFAULT, Family, Merging, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::CSharp,
    languages: &["csharp"],
    package: |file| Some(file.interface.package.clone().unwrap_or_default()),
    outer_packages: true,
    members_visible: true,
    merging: Merging::InPackage,
    ..DEFAULT
};
