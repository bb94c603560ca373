//! Ranks fused candidates: a pure function that records each of its steps in [`ScoreParts`].

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::search::query::query_class::QueryClass;
use crate::search::rank::affinity::{QueryWords, SquashedName};
use crate::search::rank::duplicates::TextHash;
use crate::search::rank::fuse::Fused;
use crate::search::rank::path_kind::{PathKind, is_manifest};
use crate::search::rank::ranking::Ranking;
use languages::fold;
use languages::terms::{PathWords, squash};
use store::DefinitionRow;

/// Number of files from which on a definition counts as used everywhere.
const USERS_ENOUGH: u32 = 64;

const HEADER_EXTENSIONS: &[&str] = &["h", "hh", "hpp", "hxx"];
const SOURCE_EXTENSIONS: &[&str] = &["c", "cc", "cpp", "cxx", "m", "mm"];

/// The facts of a candidate that the ranking uses besides its scores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CandidateFacts {
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
    /// Simple names of its definitions.
    pub defines: Vec<String>,
    /// Number of other files that use one of its definitions.
    pub users: u32,
    /// Its definitions with the queried name.
    pub named: Vec<DefinitionRow>,
    /// Its text, if it is long enough to be folded with equal ones.
    pub text: Option<TextHash>,
}

/// The parts of a score, in the order in which they are applied.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct ScoreParts {
    /// BM25, normalised to 0 ..= 1 over the candidates.
    pub lexical: f32,
    /// Cosine similarity, normalised to 0 ..= 1 over the candidates.
    pub dense: f32,
    /// Weighted sum of both.
    pub fused: f32,
    /// Added if the chunk defines the queried symbol, or a name in the sentence.
    pub definition: f32,
    /// Added if file or directory have a name from the query, or the file is a manifest that the query asks for.
    pub path: f32,
    /// Added if other files use its definitions.
    pub used: f32,
    /// Added if other chunks of the file match as well.
    pub coherence: f32,
    /// Factor of the path kind: below 1 for tests, examples, stubs and the like.
    pub role: f32,
    /// Factor below 1 if better chunks of the same file rank above.
    pub saturation: f32,
    /// Added last, to put the chunk first, if it has the text of a query as it stands to which nothing else is an answer.
    pub literal: f32,
}

/// A ranked candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedChunk {
    /// The chunk.
    pub chunk_id: i64,
    /// Sort key, descending.
    pub score: f32,
    /// Its parts.
    pub parts: ScoreParts,
    /// Its text, if it is long enough to be folded with equal ones.
    pub text: Option<TextHash>,
}

/// Ranks `candidates`; those without facts (deleted since they were retrieved) are left out.
///
/// The order does not depend on the order of the inputs: ties are broken by path, repository, line and id.
#[must_use]
pub(in crate::search) fn rank(
    class: &QueryClass,
    candidates: &[Fused],
    facts: &[CandidateFacts],
    ranking: &Ranking,
) -> Vec<RankedChunk> {
    let by_id: HashMap<i64, &CandidateFacts> = facts.iter().map(|fact| (fact.chunk_id, fact)).collect();
    let mut rows: Vec<RankRow<'_>> = candidates
        .iter()
        .filter_map(|fused| Some(RankRow::new(fused, by_id.get(&fused.chunk_id)?)))
        .collect();
    rows.sort_by(|a, b| a.facts.location().cmp(&b.facts.location()));
    let best = rows.iter().map(|row| row.score).fold(0.0, f32::max);
    let names: Vec<SquashedName> = class.names.iter().map(|name| SquashedName::new(name)).collect();
    let query_words = QueryWords::new(&class.words);
    // An issue names the definitions that are used, but its fix is seldom in them.
    let in_sentence = class.short_sentence();
    for row in &mut rows {
        let defined = definition(class, &names, row.facts, ranking) + named(class, row.facts, ranking);
        row.parts.definition = best * defined;
        let affinity = query_words.affinity(&row.facts.path, row.dense_weight, ranking);
        row.parts.path = best * class.sentence * affinity;
        if class.manifest > 0.0 && is_manifest(&row.facts.path) {
            row.parts.path += best * class.manifest * ranking.manifest_boost;
        }
        row.parts.used = best * in_sentence * ranking.used_boost * used(row.facts);
        row.score += row.parts.definition + row.parts.path + row.parts.used;
    }
    add_coherence(&mut rows, ranking);
    let sources: HashSet<_> = rows.iter().filter_map(|row| unit(row.facts, SOURCE_EXTENSIONS)).collect();
    for row in &mut rows {
        let kind = PathKind::from_path(&row.facts.path);
        row.parts.role = kind.factor(class, ranking);
        // The definition of a symbol may well be in a header; a sentence is about behaviour, which is in the source.
        let has_source = || unit(row.facts, HEADER_EXTENSIONS).is_some_and(|unit| sources.contains(&unit));
        if kind == PathKind::Source && has_source() {
            row.parts.role *= PathKind::Stub.factor(class, ranking).powf(class.sentence);
        }
        row.score *= row.parts.role;
    }
    saturate(&mut rows, ranking);
    // A stable sort of rows that are ordered by location breaks ties by location.
    rows.sort_by(|a, b| b.score.total_cmp(&a.score));
    rows.into_iter()
        .map(|row| RankedChunk {
            chunk_id: row.facts.chunk_id,
            score: row.score,
            parts: row.parts,
            text: row.facts.text,
        })
        .collect()
}

struct RankRow<'a> {
    facts: &'a CandidateFacts,
    score: f32,
    /// Weight of the dense retriever in the fused score.
    dense_weight: f32,
    parts: ScoreParts,
}

impl<'a> RankRow<'a> {
    fn new(fused: &Fused, facts: &'a CandidateFacts) -> Self {
        let parts = ScoreParts {
            lexical: fused.lexical,
            dense: fused.dense,
            fused: fused.score,
            role: 1.0,
            saturation: 1.0,
            ..ScoreParts::default()
        };
        Self { facts, score: fused.score, dense_weight: fused.dense_weight, parts }
    }
}

impl RankRow<'_> {
    /// Returns the contribution of the chunk to the score of its file. Dense scores fall off slowly, and many mediocre chunks are not
    /// evidence for a large file, so the score is raised to a power that grows with the dense weight.
    fn evidence(&self, ranking: &Ranking) -> f32 {
        let (lexical, dense) = (ranking.coherence_bend_lexical, ranking.coherence_bend);
        let bend = lexical + (dense - lexical) * self.dense_weight;
        self.score.max(0.0).powf(1.0 + bend)
    }
}

impl CandidateFacts {
    fn location(&self) -> (&str, i64, u32, i64) {
        (&self.path, self.repository_id, self.start_line, self.chunk_id)
    }
}

/// Returns the boost for defining a name in the query, as a share of the best score.
fn definition(class: &QueryClass, names: &[SquashedName], facts: &CandidateFacts, ranking: &Ranking) -> f32 {
    let defined: Vec<String> = facts.defines.iter().map(|name| fold(name)).collect();
    let stem = squash(PathWords::new(&facts.path).stem);
    let factor = |name: &SquashedName| {
        if !defined.contains(&name.squashed) {
            return 0.0;
        }
        if stem == name.squashed { ranking.definition_stem_factor } else { 1.0 }
    };
    let best_factor = names.iter().map(factor).fold(0.0, f32::max);
    best_factor * (class.symbol * ranking.definition_boost + class.sentence * ranking.embedded_name_boost)
}

/// Returns the boost for how exactly a definition matches the queried name, as a share of the best score.
fn named(class: &QueryClass, facts: &CandidateFacts, ranking: &Ranking) -> f32 {
    let Some(name) = &class.name else { return 0.0 };
    let boosts = facts.named.iter().map(|definition| name.boost(definition, &facts.path, ranking));
    boosts.fold(0.0, f32::max)
}

/// Returns a measure of the files that use the definitions of a chunk, from 0 for none to 1 for [`USERS_ENOUGH`]. The scale is logarithmic,
/// because the first users say most.
#[expect(clippy::cast_precision_loss, reason = "few files")]
fn used(facts: &CandidateFacts) -> f32 {
    let users = facts.users.min(USERS_ENOUGH);
    (users as f32).ln_1p() / (USERS_ENOUGH as f32).ln_1p()
}

/// Returns the repository of a file of C or C++ with one of these extensions, and its name without the extension, which a header and its
/// source have in common.
fn unit(facts: &CandidateFacts, extensions: &[&str]) -> Option<(i64, String)> {
    let name = facts.path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_one = extensions.iter().any(|known| extension.eq_ignore_ascii_case(known));
    is_one.then(|| (facts.repository_id, stem.to_lowercase()))
}

/// Boosts the best chunk of each file by the sum of its chunks, relative to the file with the largest sum.
fn add_coherence(rows: &mut [RankRow<'_>], ranking: &Ranking) {
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

/// Lowers each further chunk of a file, so that one file does not fill the page.
fn saturate(rows: &mut [RankRow<'_>], ranking: &Ranking) {
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

    fn facts(chunk_id: i64, file_id: i64, path: &str, defines: &[&str]) -> CandidateFacts {
        let defines = defines.iter().map(|name| (*name).to_owned()).collect();
        CandidateFacts {
            chunk_id,
            file_id,
            repository_id: 1,
            path: path.to_owned(),
            start_line: 1,
            defines,
            users: 0,
            named: Vec::new(),
            text: None,
        }
    }

    fn fused(chunk_id: i64, score: f32) -> Fused {
        Fused { chunk_id, lexical: score, dense: 0.0, dense_weight: 0.0, score }
    }

    fn order(query: &str, candidates: &[Fused], facts: &[CandidateFacts]) -> Vec<i64> {
        let ranked = rank(&QueryClass::new(query), candidates, facts, &Ranking::default());
        ranked.into_iter().map(|row| row.chunk_id).collect()
    }

    #[test]
    fn a_symbol_finds_its_definition_first() {
        let facts = [facts(1, 1, "src/app.py", &[]), facts(2, 2, "src/mixin.py", &["Blueprint"])];
        assert_eq!(order("Blueprint", &[fused(1, 1.0), fused(2, 0.4)], &facts), [2, 1]);
    }

    #[test]
    fn a_definition_in_a_file_of_that_name_ranks_first() {
        let facts =
            [facts(1, 1, "src/a.py", &["Blueprint"]), facts(2, 2, "src/blueprint.py", &["Blueprint"])];
        assert_eq!(order("Blueprint", &[fused(1, 0.9), fused(2, 0.5)], &facts), [2, 1]);
    }

    #[test]
    fn a_sentence_finds_the_file_with_its_words_in_the_name() {
        let facts = [facts(1, 1, "src/app.py", &[]), facts(2, 2, "src/sessions.py", &[])];
        assert_eq!(order("session management", &[fused(1, 1.0), fused(2, 0.6)], &facts), [2, 1]);
    }

    #[test]
    fn tests_rank_lower_unless_the_query_asks_for_them() {
        let facts = [facts(1, 1, "tests/test_routing.py", &[]), facts(2, 2, "src/a.py", &[])];
        let candidates = [fused(1, 1.0), fused(2, 0.7)];
        assert_eq!(order("dispatching requests", &candidates, &facts), [2, 1]);
        assert_eq!(order("tests of dispatching requests", &candidates, &facts), [1, 2]);
    }

    #[test]
    fn a_header_ranks_below_the_source_of_what_it_declares() {
        let mut facts = [facts(1, 1, "include/pool.h", &[]), facts(2, 2, "lib/Pool.c", &[])];
        let candidates = [fused(1, 1.0), fused(2, 0.8)];
        assert_eq!(order("closing connections", &candidates, &facts), [2, 1]);
        facts[1].path = "lib/other.c".to_owned();
        assert_eq!(order("closing connections", &candidates, &facts), [1, 2], "the source was not found");
        facts[1].path = "lib/pool.c".to_owned();
        facts[1].repository_id = 2;
        assert_eq!(
            order("closing connections", &candidates, &facts),
            [1, 2],
            "the source of another repository"
        );
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
    fn ties_are_broken_by_path_and_line() {
        let mut facts = vec![facts(1, 1, "b.rs", &[]), facts(2, 2, "a.rs", &[]), facts(3, 3, "a.rs", &[])];
        facts[1].start_line = 9;
        assert_eq!(order("x y", &[fused(1, 1.0), fused(2, 1.0), fused(3, 1.0)], &facts), [3, 2, 1]);
    }

    #[test]
    fn a_definition_that_many_files_use_ranks_first_for_words_but_not_for_an_issue() {
        let mut facts = [facts(1, 1, "src/a.rs", &[]), facts(2, 2, "src/b.rs", &[])];
        let candidates = [fused(1, 1.0), fused(2, 0.8)];
        assert_eq!(order("sending answers back", &candidates, &facts), [1, 2]);
        facts[1].users = 20;
        assert_eq!(order("sending answers back", &candidates, &facts), [2, 1]);
        assert_eq!(order(&"sending answers back fails ".repeat(60), &candidates, &facts), [1, 2]);
    }

    #[test]
    fn parts_add_up_to_the_score() {
        let facts = [facts(1, 1, "src/session.py", &["Session"]), facts(2, 1, "src/session.py", &[])];
        let class = QueryClass::new("how `Session` stores");
        for row in rank(&class, &[fused(1, 0.7), fused(2, 1.0)], &facts, &Ranking::default()) {
            let parts = row.parts;
            let sum = parts.fused + parts.definition + parts.path + parts.used + parts.coherence;
            assert!((sum * parts.role * parts.saturation - row.score).abs() < 1e-5, "{row:?}");
        }
    }

    fn pool() -> impl Strategy<Value = (Vec<Fused>, Vec<CandidateFacts>)> {
        let row = (0_i64..6, 1_u32..50, 0.0_f32..1.0);
        proptest::collection::vec(row, 1..30).prop_map(|rows| {
            let paths =
                ["src/a.rs", "src/route.rs", "tests/b.rs", "examples/c.rs", "lib/d.py", "lib/__init__.py"];
            let numbered = rows.into_iter().zip(1_i64..);
            numbered
                .map(|((file, line, score), id)| {
                    let path = paths[usize::try_from(file).unwrap()];
                    (
                        fused(id, score),
                        CandidateFacts { start_line: line, ..facts(id, file, path, &["route"]) },
                    )
                })
                .unzip()
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_input_does_not_matter((candidates, facts) in pool()) {
            let (mut reversed, mut reversed_facts) = (candidates.clone(), facts.clone());
            reversed.reverse();
            reversed_facts.reverse();
            prop_assert_eq!(order("how routes work", &candidates, &facts), order("how routes work", &reversed, &reversed_facts));
        }

        #[test]
        fn no_chunk_is_lost_and_scores_descend((candidates, facts) in pool()) {
            let ranked = rank(&QueryClass::new("route"), &candidates, &facts, &Ranking::default());
            prop_assert_eq!(ranked.len(), candidates.len());
            prop_assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }

        #[test]
        fn the_order_of_chunks_within_a_file_is_kept((candidates, facts) in pool()) {
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
