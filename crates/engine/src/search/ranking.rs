//! Every constant of the order of results, in one value: what ships is its `Default`, and a trial varies one field.

use serde::{Deserialize, Serialize};

/// Weights of the signals. A boost is a share of the best fused score; a factor multiplies a chunk's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ranking {
    /// Share of the dense leg in the fused score; the rest is lexical.
    pub dense_weight: f32,
    /// Share of the dense leg when the question is one symbol, which words match better than meanings.
    pub dense_weight_symbol: f32,
    /// Share of the dense leg when the question is a long text such as an issue.
    pub dense_weight_issue: f32,
    /// A term of a text's subject line weighs this much of itself.
    pub subject_factor: f32,
    /// Terms of a question that are looked up, the weightiest by idf; long texts have more.
    pub terms_max: usize,
    /// Terms in more than this share of all chunks do not choose candidates; they only score them.
    pub common_share: f32,
    /// So many of the best by words must be certain before words that choose nothing are ignored.
    pub lexical_exact_rows: usize,
    /// The chunk defines the symbol asked for.
    pub definition_boost: f32,
    /// … and its file is named after it: multiplies `definition_boost`.
    pub definition_stem_factor: f32,
    /// The chunk defines a name embedded in a sentence.
    pub embedded_name_boost: f32,
    /// A name is asked for with what it stands in, and the definition stands in that.
    pub name_container_boost: f32,
    /// … or in a file or directory of that name.
    pub name_path_boost: f32,
    /// A name is asked for with a kind, and the definition is of that kind; a related kind counts half.
    pub name_kind_boost: f32,
    /// A name is asked for with the definition's own upper and lower case.
    pub name_case_boost: f32,
    /// A name is asked for by itself, and the definition stands in nothing else; or all around it is as it was asked.
    pub name_outer_boost: f32,
    /// Words of a sentence stand in the file's stem; full when stem and sentence agree in every word.
    pub stem_boost: f32,
    /// … and this much less, times the vectors' share of the score.
    pub stem_boost_meant: f32,
    /// Words of a sentence stand in the parent directory's name.
    pub parent_boost: f32,
    /// Further evidence in the same file supports its best chunk.
    pub coherence_boost: f32,
    /// How much the dense leg's share bends a chunk's score where it is evidence for its file: power 1 + this · share.
    pub coherence_bend: f32,
    /// Each further chunk of a file counts this much of the one before.
    pub saturation: f32,
    /// Tests, unless asked for.
    pub test_factor: f32,
    /// Examples, demonstrations and benchmarks, unless asked for.
    pub example_factor: f32,
    /// Compatibility layers, unless asked for.
    pub compat_factor: f32,
    /// Type declarations without bodies (`.d.ts`, `.pyi`).
    pub stub_factor: f32,
    /// Files that only pass on what others define (`__init__.py`, `index.ts`).
    pub reexport_factor: f32,
    /// Prose and data beside the code, unless asked for.
    pub prose_factor: f32,
    /// How far documents count fully where the query asks how to use something: 0 not at all, 1 wholly.
    pub usage_prose: f32,
    /// The package's manifest, where the query asks for what it declares.
    pub manifest_boost: f32,
    /// Code for one platform that the question does not name, beside that for others.
    pub platform_factor: f32,
    /// In long texts tests, examples and prose, which a fix seldom is about, count to the power of 1 + this.
    pub role_bend_issue: f32,
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
            coherence_boost: 0.5,
            coherence_bend: 4.0,
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
        }
    }
}
