//! Every field of every tool changes something that a test sees: which test files do that stands here.

use std::fs;
use std::path::Path;

use pairofcleats::tools::LIST;

/// The alias has the fields of `build_index` and runs the same code.
const ALIASES: &[&str] = &["index_build"];

const SHOWN_IN: &[(&str, &[&str])] = &[
    (
        "search",
        &[
            "filters/effect.rs",
            "filters/risk.rs",
            "filters/values.rs",
            "filters/answers.rs",
            "portable/agreement.rs",
        ],
    ),
    ("search_code", &["searching.rs", "surfaces.rs", "isolation.rs", "standing.rs"]),
    ("show_file", &["surfaces.rs", "faults.rs"]),
    ("index_repository", &["surfaces.rs", "isolation.rs", "workflow.rs"]),
    (
        "build_index",
        &[
            "models/pinned.rs",
            "models/modes.rs",
            "portable/artifacts.rs",
            "searching.rs",
            "surfaces.rs",
            "faults.rs",
        ],
    ),
    ("index_status", &["surfaces.rs", "processes.rs"]),
    ("check_status", &["surfaces.rs", "processes.rs"]),
    ("workspace_status", &["isolation.rs", "upkeep/deleting.rs"]),
    ("triage_ingest", &["triage/ingest.rs"]),
    ("triage_decision", &["triage/decisions.rs"]),
    ("triage_context_pack", &["triage/packs.rs"]),
    ("build_sqlite_index", &["portable/build.rs"]),
    ("compact_sqlite_index", &["portable/build.rs"]),
    ("report_artifacts", &["upkeep/reporting.rs"]),
    ("config_status", &["upkeep/reporting.rs"]),
    ("cache_gc", &["upkeep/collecting.rs"]),
    ("clean_artifacts", &["upkeep/cleaning.rs", "upkeep/collecting.rs"]),
    ("bootstrap", &["upkeep/bootstrapping.rs"]),
    ("download_models", &["models/download.rs"]),
    ("download_dictionaries", &["artifacts/dictionaries.rs"]),
    ("download_extensions", &["artifacts/extensions.rs"]),
    ("verify_extensions", &["artifacts/extensions.rs"]),
];

/// Fields without an effect test; it stays empty.
const UNCOVERED: &[&str] = &[];

#[test]
fn every_field_has_an_effect_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut complaints = Vec::new();
    for tool in LIST.iter().filter(|tool| !ALIASES.contains(&tool.name)) {
        let named = SHOWN_IN.iter().find(|(name, _)| *name == tool.name);
        let (_, places) = named.unwrap_or_else(|| panic!("{} has no effect tests", tool.name));
        let texts: String =
            places.iter().map(|place| fs::read_to_string(folder.join(place)).unwrap()).collect();
        let input = (tool.input)();
        for field in input["properties"].as_object().unwrap().keys() {
            let full = format!("{}.{field}", tool.name);
            if !texts.contains(&format!("\"{field}\"")) && !UNCOVERED.contains(&full.as_str()) {
                complaints.push(full);
            }
        }
    }
    assert!(complaints.is_empty(), "no effect test names: {}", complaints.join(", "));
    for (name, _) in SHOWN_IN {
        assert!(LIST.iter().any(|tool| tool.name == *name), "there is no tool {name}");
    }
}
