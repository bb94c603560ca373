//! All constants of the ranking in one value. `Default` has the released values; experiments vary single fields.

use serde::{Deserialize, Serialize};

/// Weights of the signals. A boost is a share of the best fused score; a factor multiplies a chunk's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ranking {
    /// Weight of the dense retriever in the fused score; the rest is lexical.
    pub dense_weight: f32,
    /// The same weight if the query is a symbol, which terms match better than vectors.
    pub dense_weight_symbol: f32,
    /// The same weight if the query is a long text such as an issue.
    pub dense_weight_issue: f32,
    /// Factor of the weight of terms in a subject line.
    pub subject_factor: f32,
    /// Maximum number of terms of a query that are used, those with the highest weight.
    pub terms_max: usize,
    /// Terms in more than this share of all chunks do not select candidates; they only score them.
    pub common_share: f32,
    /// Number of the best lexical candidates that must be certain; otherwise a second statement selects by more terms.
    pub lexical_exact_rows: usize,
    /// The chunk defines the queried symbol.
    pub definition_boost: f32,
    /// … and its file is named after it: multiplies `definition_boost`.
    pub definition_stem_factor: f32,
    /// The chunk defines a name embedded in a sentence.
    pub embedded_name_boost: f32,
    /// The query names a container (module, class), and the definition is in it.
    pub name_container_boost: f32,
    /// … or in a file or directory with that name.
    pub name_path_boost: f32,
    /// The query names a kind, and the definition has it; a related kind counts half.
    pub name_kind_boost: f32,
    /// The queried name has the definition's exact case.
    pub name_case_boost: f32,
    /// The query has no container and neither has the definition; or all containers match.
    pub name_outer_boost: f32,
    /// Words of a sentence occur in the file's stem; full if both have the same words.
    pub stem_boost: f32,
    /// … reduced by this, times the dense weight, because the embedded text contains the path.
    pub stem_boost_meant: f32,
    /// Words of a sentence occur in the name of the parent directory.
    pub parent_boost: f32,
    /// Many other files use the definitions of the chunk.
    pub used_boost: f32,
    /// Other matching chunks of the file support its best chunk.
    pub coherence_boost: f32,
    /// A chunk adds its score to its file with the power 1 + this, if all of its score is dense.
    pub coherence_bend: f32,
    /// … and if all of it is lexical; in between for both.
    pub coherence_bend_lexical: f32,
    /// Factor of each further chunk of a file, relative to the one before.
    pub saturation: f32,
    /// Tests, unless asked for.
    pub test_factor: f32,
    /// Examples, demonstrations and benchmarks, unless asked for.
    pub example_factor: f32,
    /// Compatibility layers, unless asked for.
    pub compat_factor: f32,
    /// Declarations without bodies (`.d.ts`, `.pyi`); in a sentence also headers whose source file is a candidate.
    pub stub_factor: f32,
    /// Files that re-export definitions of other files (`__init__.py`, `index.ts`).
    pub reexport_factor: f32,
    /// Prose and data, unless asked for.
    pub prose_factor: f32,
    /// Degree to which documents are exempt from `prose_factor` if the query asks how to use something, 0 to 1.
    pub usage_prose: f32,
    /// The package manifest, if the query asks for what it declares.
    pub manifest_boost: f32,
    /// Code for a platform that the query does not name.
    pub platform_factor: f32,
    /// For an issue, the factors of tests, examples and prose are raised to the power 1 + this: fixes are rarely there.
    pub role_bend_issue: f32,
    /// Equal texts of at least so many lines are one hit …
    pub duplicate_lines_min: u32,
    /// … if they have at least so many bytes. Shorter ones say something only by their places.
    pub duplicate_bytes_min: u32,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            dense_weight: 0.5,
            dense_weight_symbol: 0.15,
            dense_weight_issue: 0.2,
            subject_factor: 1.5,
            terms_max: 48,
            common_share: 0.05,
            lexical_exact_rows: 20,
            definition_boost: 1.5,
            definition_stem_factor: 1.5,
            embedded_name_boost: 0.3,
            name_container_boost: 8.0,
            name_path_boost: 4.0,
            name_kind_boost: 3.0,
            name_case_boost: 0.5,
            name_outer_boost: 0.25,
            stem_boost: 1.0,
            stem_boost_meant: 0.4,
            parent_boost: 0.45,
            used_boost: 0.4,
            coherence_boost: 0.5,
            coherence_bend: 4.5,
            coherence_bend_lexical: 0.5,
            saturation: 0.5,
            test_factor: 0.5,
            example_factor: 0.5,
            compat_factor: 0.5,
            stub_factor: 0.7,
            reexport_factor: 0.6,
            prose_factor: 0.5,
            usage_prose: 1.0,
            manifest_boost: 0.6,
            platform_factor: 0.7,
            role_bend_issue: 3.0,
            duplicate_lines_min: 3,
            duplicate_bytes_min: 100,
        }
    }
}
