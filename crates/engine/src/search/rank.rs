//! From fused candidates to the order of results: a pure function whose every step is kept in [`Parts`].

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::affinity::{Asked, Name};
use super::fuse::Fused;
use super::ranking::Ranking;
use super::role::{Role, is_manifest};
use super::shape::Shape;
use languages::terms::{PathWords, squash};
use store::DefinitionRow;

/// What the ranking knows of a candidate besides its scores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The chunk.
    pub chunk_id: i64,
    /// Its file.
    pub file_id: i64,
    /// Its repository.
    pub repository_id: i64,
    /// Repository-relative path of the file.
    pub path: String,
    /// First line, 1-based.
    pub start_line: u32,
    /// Simple names it defines.
    pub defines: Vec<String>,
    /// Its definitions of the name that was asked for.
    pub named: Vec<DefinitionRow>,
}

/// How a score came about; the fields in the order in which they were applied.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Parts {
    /// BM25, 0 ..= 1 over the candidates.
    pub lexical: f32,
    /// Vector similarity, 0 ..= 1 over the candidates.
    pub dense: f32,
    /// Both, weighed.
    pub fused: f32,
    /// Added: the chunk defines the symbol, or a name in the sentence.
    pub definition: f32,
    /// Added: file or directory are named as the question says, or the file is the manifest that it asks for.
    pub path: f32,
    /// Added: the rest of the file is about it as well.
    pub coherence: f32,
    /// Multiplied: tests, examples, stubs and the like.
    pub role: f32,
    /// Multiplied: better chunks of the same file stand above.
    pub saturation: f32,
}

/// A ranked candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The chunk.
    pub chunk_id: i64,
    /// What the order is by.
    pub score: f32,
    /// How it came about.
    pub parts: Parts,
}

/// Ranks `candidates`; those without facts (gone since they were found) are left out.
///
/// The order does not depend on the order of the inputs: ties go by path, repository, line and id.
#[must_use]
pub fn rank(shape: &Shape, candidates: &[Fused], facts: &[Facts], ranking: &Ranking) -> Vec<Ranked> {
    let by_id: HashMap<i64, &Facts> = facts.iter().map(|fact| (fact.chunk_id, fact)).collect();
    let mut rows: Vec<Row<'_>> =
        candidates.iter().filter_map(|fused| Some(Row::new(fused, by_id.get(&fused.chunk_id)?))).collect();
    rows.sort_by(|a, b| a.facts.place().cmp(&b.facts.place()));
    let best = rows.iter().map(|row| row.score).fold(0.0, f32::max);
    let names: Vec<Name> = shape.names.iter().map(|name| Name::of(name)).collect();
    let asked = Asked::of(&shape.words);
    for row in &mut rows {
        let defined = definition(shape, &names, row.facts, ranking) + named(shape, row.facts, ranking);
        row.parts.definition = best * defined;
        row.parts.path = best * shape.sentence * asked.affinity(&row.facts.path, row.dense_weight, ranking);
        if shape.manifest > 0.0 && is_manifest(&row.facts.path) {
            row.parts.path += best * shape.manifest * ranking.manifest_boost;
        }
        row.score += row.parts.definition + row.parts.path;
    }
    add_coherence(&mut rows, ranking);
    for row in &mut rows {
        row.parts.role = Role::of(&row.facts.path).factor(shape, ranking);
        row.score *= row.parts.role;
    }
    saturate(&mut rows, ranking);
    // Stable, over rows in the order of their places: that is how ties are broken.
    rows.sort_by(|a, b| b.score.total_cmp(&a.score));
    rows.into_iter()
        .map(|row| Ranked { chunk_id: row.facts.chunk_id, score: row.score, parts: row.parts })
        .collect()
}

struct Row<'a> {
    facts: &'a Facts,
    score: f32,
    /// Share of the dense leg in the fused score.
    dense_weight: f32,
    parts: Parts,
}

impl<'a> Row<'a> {
    fn new(fused: &Fused, facts: &'a Facts) -> Self {
        let parts = Parts {
            lexical: fused.lexical,
            dense: fused.dense,
            fused: fused.score,
            role: 1.0,
            saturation: 1.0,
            ..Parts::default()
        };
        Self { facts, score: fused.score, dense_weight: fused.dense_weight, parts }
    }
}

impl Row<'_> {
    /// What the chunk counts for its file. Fused scores fall off the more evenly the more the dense leg says, and
    /// many middling chunks of a large file are no evidence; BM25 alone falls steeply enough.
    fn evidence(&self, ranking: &Ranking) -> f32 {
        self.score.max(0.0).powf(1.0 + ranking.coherence_bend * self.dense_weight)
    }
}

impl Facts {
    fn place(&self) -> (&str, i64, u32, i64) {
        (&self.path, self.repository_id, self.start_line, self.chunk_id)
    }
}

/// The boost for defining what the question names, as a share of the best score.
fn definition(shape: &Shape, names: &[Name], facts: &Facts, ranking: &Ranking) -> f32 {
    let defined: Vec<String> = facts.defines.iter().map(|name| squash(name)).collect();
    let stem = squash(PathWords::of(&facts.path).stem);
    let one = |name: &Name| {
        if !defined.contains(&name.squashed) {
            return 0.0;
        }
        if stem == name.squashed { ranking.definition_stem_factor } else { 1.0 }
    };
    let found = names.iter().map(one).fold(0.0, f32::max);
    found * (shape.symbol * ranking.definition_boost + shape.sentence * ranking.embedded_name_boost)
}

/// The boost for how exactly a definition is the name asked for, as a share of the best score.
fn named(shape: &Shape, facts: &Facts, ranking: &Ranking) -> f32 {
    let Some(asked) = &shape.asked else { return 0.0 };
    facts.named.iter().map(|one| asked.boost(one, &facts.path, ranking)).fold(0.0, f32::max)
}

/// A file's best chunk gains by what the whole file collected, in proportion to the file that collected most.
fn add_coherence(rows: &mut [Row<'_>], ranking: &Ranking) {
    let mut files: HashMap<i64, (f32, usize)> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let (sum, best) = files.entry(row.facts.file_id).or_insert((0.0, at));
        *sum += row.evidence(ranking);
        if row.score > rows[*best].score {
            *best = at;
        }
    }
    let best_score = rows.iter().map(|row| row.score).fold(0.0, f32::max);
    let best_sum = files.values().map(|(sum, _)| *sum).fold(0.0, f32::max);
    if best_sum <= 0.0 {
        return;
    }
    for (sum, best) in files.into_values() {
        rows[best].parts.coherence = ranking.coherence_boost * best_score * sum / best_sum;
        rows[best].score += rows[best].parts.coherence;
    }
}

/// Each further chunk of a file counts less, so that one file does not fill the page.
fn saturate(rows: &mut [Row<'_>], ranking: &Ranking) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| rows[*b].score.total_cmp(&rows[*a].score).then(a.cmp(b)));
    let mut factors: HashMap<i64, f32> = HashMap::new();
    for at in order {
        let factor = factors.entry(rows[at].facts.file_id).or_insert(1.0);
        rows[at].parts.saturation = *factor;
        rows[at].score *= *factor;
        *factor *= ranking.saturation;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts(chunk_id: i64, file_id: i64, path: &str, defines: &[&str]) -> Facts {
        let defines = defines.iter().map(|name| (*name).to_owned()).collect();
        Facts {
            chunk_id,
            file_id,
            repository_id: 1,
            path: path.to_owned(),
            start_line: 1,
            defines,
            named: Vec::new(),
        }
    }

    fn fused(chunk_id: i64, score: f32) -> Fused {
        Fused { chunk_id, lexical: score, dense: 0.0, dense_weight: 0.0, score }
    }

    fn order(question: &str, candidates: &[Fused], facts: &[Facts]) -> Vec<i64> {
        let ranked = rank(&Shape::of(question), candidates, facts, &Ranking::default());
        ranked.into_iter().map(|row| row.chunk_id).collect()
    }

    #[test]
    fn a_symbol_finds_its_definition_first() {
        let facts = [facts(1, 1, "src/app.py", &[]), facts(2, 2, "src/mixin.py", &["Blueprint"])];
        assert_eq!(order("Blueprint", &[fused(1, 1.0), fused(2, 0.4)], &facts), [2, 1]);
    }

    #[test]
    fn among_definitions_the_file_named_after_it_wins() {
        let facts =
            [facts(1, 1, "src/a.py", &["Blueprint"]), facts(2, 2, "src/blueprint.py", &["Blueprint"])];
        assert_eq!(order("Blueprint", &[fused(1, 0.9), fused(2, 0.5)], &facts), [2, 1]);
    }

    #[test]
    fn a_sentence_finds_the_file_named_so() {
        let facts = [facts(1, 1, "src/app.py", &[]), facts(2, 2, "src/sessions.py", &[])];
        assert_eq!(order("session management", &[fused(1, 1.0), fused(2, 0.6)], &facts), [2, 1]);
    }

    #[test]
    fn tests_stand_behind_unless_asked_for() {
        let facts = [facts(1, 1, "tests/test_routing.py", &[]), facts(2, 2, "src/a.py", &[])];
        let candidates = [fused(1, 1.0), fused(2, 0.7)];
        assert_eq!(order("dispatching requests", &candidates, &facts), [2, 1]);
        assert_eq!(order("tests of dispatching requests", &candidates, &facts), [1, 2]);
    }

    #[test]
    fn one_file_does_not_fill_the_page() {
        let facts = [
            facts(1, 1, "a.rs", &[]),
            facts(2, 1, "a.rs", &[]),
            facts(3, 1, "a.rs", &[]),
            facts(4, 2, "b.rs", &[]),
        ];
        let candidates = [fused(1, 1.0), fused(2, 0.9), fused(3, 0.8), fused(4, 0.6)];
        assert_eq!(order("where is it", &candidates, &facts), [1, 4, 2, 3]);
    }

    #[test]
    fn ties_go_by_path_and_line() {
        let mut facts = vec![facts(1, 1, "b.rs", &[]), facts(2, 2, "a.rs", &[]), facts(3, 3, "a.rs", &[])];
        facts[1].start_line = 9;
        assert_eq!(order("x y", &[fused(1, 1.0), fused(2, 1.0), fused(3, 1.0)], &facts), [3, 2, 1]);
    }

    #[test]
    fn parts_explain_the_score() {
        let facts = [facts(1, 1, "src/session.py", &["Session"]), facts(2, 1, "src/session.py", &[])];
        let shape = Shape::of("how `Session` stores");
        for row in rank(&shape, &[fused(1, 0.7), fused(2, 1.0)], &facts, &Ranking::default()) {
            let parts = row.parts;
            let sum = parts.fused + parts.definition + parts.path + parts.coherence;
            assert!((sum * parts.role * parts.saturation - row.score).abs() < 1e-5, "{row:?}");
        }
    }

    fn pool() -> impl Strategy<Value = (Vec<Fused>, Vec<Facts>)> {
        let row = (0_i64..6, 1_u32..50, 0.0_f32..1.0);
        proptest::collection::vec(row, 1..30).prop_map(|rows| {
            let paths =
                ["src/a.rs", "src/route.rs", "tests/b.rs", "examples/c.rs", "lib/d.py", "lib/__init__.py"];
            let numbered = rows.into_iter().zip(1_i64..);
            numbered
                .map(|((file, line, score), id)| {
                    let path = paths[usize::try_from(file).unwrap()];
                    (fused(id, score), Facts { start_line: line, ..facts(id, file, path, &["route"]) })
                })
                .unzip()
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_input_does_not_matter((candidates, facts) in pool()) {
            let (mut turned, mut turned_facts) = (candidates.clone(), facts.clone());
            turned.reverse();
            turned_facts.reverse();
            prop_assert_eq!(order("how routes work", &candidates, &facts), order("how routes work", &turned, &turned_facts));
        }

        #[test]
        fn nobody_is_lost_and_scores_descend((candidates, facts) in pool()) {
            let ranked = rank(&Shape::of("route"), &candidates, &facts, &Ranking::default());
            prop_assert_eq!(ranked.len(), candidates.len());
            prop_assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }

        #[test]
        fn a_better_chunk_of_a_file_stays_before_a_worse_one((candidates, facts) in pool()) {
            let ranked = order("zzz", &candidates, &facts);
            let at = |id: i64| ranked.iter().position(|other| *other == id);
            for (a, fact_a) in candidates.iter().zip(&facts) {
                for (b, fact_b) in candidates.iter().zip(&facts) {
                    if fact_a.file_id == fact_b.file_id && a.score > b.score {
                        prop_assert!(at(a.chunk_id) < at(b.chunk_id));
                    }
                }
            }
        }
    }
}
