//! The table of record sources: modules whose texts are indexed although they are not files.

use crate::catalog;
use engine::indexing::RecordSource;
use engine::triage;

/// Every source.
pub static RECORD_SOURCES: &[&RecordSource] = &[&triage::RECORDS, &catalog::RECORDS];

#[cfg(test)]
mod tests {
    use super::*;
    use store::postgres::MODULES;

    #[test]
    fn each_has_a_root_of_its_own_that_names_its_module() {
        for (at, source) in RECORD_SOURCES.iter().enumerate() {
            let (module, name) = source.root.split_once(':').unwrap_or_else(|| panic!("{}", source.root));
            assert!(MODULES.iter().any(|known| known.name == module) && !name.is_empty(), "{}", source.root);
            assert!(RECORD_SOURCES[..at].iter().all(|other| other.root != source.root), "{}", source.root);
        }
    }
}
