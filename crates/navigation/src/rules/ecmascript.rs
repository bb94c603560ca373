//! JavaScript and TypeScript: modules are files.

use super::{DEFAULT, Family, FreeNames, Merging, Rules};

pub(super) const RULES: Rules = Rules {
    family: Family::EcmaScript,
    languages: &["javascript", "tsx", "typescript"],
    merging: Merging::InScope,
    free_names: FreeNames::Builtin,
    constructors: &["constructor"],
    ..DEFAULT
};
