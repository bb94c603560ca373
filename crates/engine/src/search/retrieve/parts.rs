//! Retrieves the candidates of all parts of a search. Small repositories share the statements, in which each has its own weights
//! and its own limit; large ones would select each other's common words, so each has statements of its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::search::filters::scope::Selections;
use crate::search::query::exact_name;
use crate::search::rank::fuse::Retrieved;
use crate::search::rank::ranking::Ranking;
use crate::search::retrieve::part::{Candidates, Part, Question};
use crate::search::retrieve::plan::{LexicalPlan, VectorPath};
use crate::search::retrieve::retrievers::{
    MissingScores, chunk_ids, dense, dense_score, equal_idf_shares, lexical_query, lexical_score, sql_limit,
};
use crate::search::retrieve::ties::Cuts;
use crate::search::stopwatch::Stopwatch;
use contract::{Fault, config};
use store::{
    CandidateWords, ChunkSelection, Completion, DefinitionRow, LexicalHit, LexicalSource, Reads,
    RepositoryQuery, VectorHit,
};

/// The lexical candidates of a part, and the ids of those of the first pages.
pub(in crate::search) type LexicalFound = (Retrieved, HashSet<i64>);

/// The parts of a search; there is at least one.
pub(in crate::search) struct Parts {
    /// The chunks of those that are searched together.
    pub(in crate::search) selected: Arc<Selections>,
    /// Chunks among which the definitions of all parts are.
    pub(in crate::search) within: ChunkSelection,
    pub(in crate::search) parts: Vec<Part>,
    /// The nearest chunks of repositories whose vectors have all been compared already.
    pub(in crate::search) compared: HashMap<i64, Retrieved>,
    /// The hidden repositories of the parts, where revisions are asked for.
    pub(in crate::search) hidden: HashMap<i64, i64>,
}

impl Parts {
    /// Returns the lexical candidates of each part: the best chunks by BM25 of each lexical table, and the ids of those that are
    /// candidates of a first page (`search.candidates` of each table).
    ///
    /// At first, terms that occur in many chunks do not select candidates; if a good candidate may be missing, a second
    /// statement selects by more terms.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn lexical(
        &self,
        reads: &mut Reads,
        ranking: &Ranking,
        settings: &config::Search,
    ) -> Result<Vec<LexicalFound>, Fault> {
        let mut found: Vec<LexicalFound> = self.parts.iter().map(|_| LexicalFound::default()).collect();
        let shared: Vec<usize> = (0..self.parts.len()).filter(|at| self.parts[*at].own.is_none()).collect();
        let mut groups: Vec<(&Selections, Vec<usize>)> = Vec::new();
        if !shared.is_empty() {
            groups.push((&self.selected, shared));
        }
        let own = self.parts.iter().enumerate().filter_map(|(at, part)| Some((part.own.as_ref()?, vec![at])));
        groups.extend(own);
        for (selected, members) in groups {
            // The parts have the same terms, with other weights.
            let has_terms = members.iter().any(|at| !self.parts[*at].plan.lexical.terms.is_empty());
            for (source, selection) in selected.sources().filter(|_| has_terms) {
                let scores_all = selected.is_narrowed && matches!(selection, ChunkSelection::Listed(_));
                let cuts = self.cuts(settings.candidates);
                let best =
                    self.best(reads, (source, selection), &members, (scores_all, ranking, cuts)).await?;
                for (at, best) in members.iter().zip(best) {
                    let (retrieved, first_page) = &mut found[*at];
                    first_page.extend(chunk_ids(&best).take(settings.candidates));
                    retrieved.extend(best);
                }
            }
        }
        Ok(found)
    }

    /// Counts the terms that the counts do not know among the candidates, if counts lag behind the chunks. A chunk with such a term has the
    /// best score, so a term that occurs at all occurs among the candidates.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn count_terms(
        &mut self,
        reads: &mut Reads,
        found: &[LexicalFound],
    ) -> Result<(), Fault> {
        for (part, (retrieved, _)) in self.parts.iter_mut().zip(found) {
            let (terms, ids) = (part.plan.lexical.uncounted(), chunk_ids(retrieved).collect::<Vec<i64>>());
            if !terms.is_empty() && !ids.is_empty() {
                part.plan.lexical.count(&reads.terms_within(&ids, &terms).await?);
            }
        }
        Ok(())
    }

    /// Returns the best chunks of a lexical table for some parts that are searched together.
    ///
    /// Chunks that a filter lists are few enough to score them all in one statement (`scores_all`). A whole repository is searched in the
    /// same way whether or not it is listed because of its neighbours.
    async fn best(
        &self,
        reads: &mut Reads,
        (source, selection): (LexicalSource, &ChunkSelection),
        members: &[usize],
        (scores_all, ranking, cuts): (bool, &Ranking, Cuts),
    ) -> Result<Vec<Retrieved>, Fault> {
        let plan = |at: &usize| {
            let plan = &self.parts[*at].plan.lexical;
            (*at, if scores_all { plan.with_all_terms() } else { plan.clone() })
        };
        let plans: Vec<(usize, LexicalPlan)> = members.iter().map(plan).collect();
        let mut hits = self.lexical_hits(reads, (source, selection), &plans, cuts).await?;
        if scores_all {
            return Ok(hits);
        }
        let (mut places, mut again) = (Vec::new(), Vec::new());
        for (place, (at, plan)) in plans.iter().enumerate() {
            let scores: Vec<f32> = hits[place].iter().map(|(_, score)| *score).collect();
            if !plan.is_exact(&scores, ranking.lexical_exact_rows)
                && let Some(more) = plan.with_more_terms()
            {
                places.push(place);
                again.push((*at, more));
            }
        }
        if !again.is_empty() {
            let more = self.lexical_hits(reads, (source, selection), &again, cuts).await?;
            for (place, more) in places.into_iter().zip(more) {
                hits[place] = more;
            }
        }
        Ok(hits)
    }

    /// Returns the best chunks of some parts, each by its plan.
    async fn lexical_hits(
        &self,
        reads: &mut Reads,
        selected: (LexicalSource, &ChunkSelection),
        plans: &[(usize, LexicalPlan)],
        cuts: Cuts,
    ) -> Result<Vec<Retrieved>, Fault> {
        let mut found = self.read_lexical(reads, selected, plans, cuts.read()).await?;
        if let Some(more) = found.iter().find_map(|found| cuts.read_again(found)) {
            found = self.read_lexical(reads, selected, plans, more).await?;
        }
        let mut all = Vec::with_capacity(found.len());
        for found in found {
            all.push(cuts.cut(reads, found).await?);
        }
        Ok(all)
    }

    /// Reads the best chunks of some parts, at most `limit` of each.
    async fn read_lexical(
        &self,
        reads: &mut Reads,
        (source, selection): (LexicalSource, &ChunkSelection),
        plans: &[(usize, LexicalPlan)],
        limit: usize,
    ) -> Result<Vec<Retrieved>, Fault> {
        let limit = sql_limit(limit);
        let scores = |hits: Vec<LexicalHit>| hits.iter().map(lexical_score).collect::<Retrieved>();
        if let [(at, plan)] = plans
            && self.parts[*at].is_alone()
        {
            return Ok(vec![scores(
                reads.lexical_hits(source, selection, &lexical_query(plan), limit).await?,
            )]);
        }
        let query = |(at, plan): &(usize, LexicalPlan)| {
            let repository_id = self.parts[*at].repository?;
            Some(RepositoryQuery { repository_id, query: lexical_query(plan) })
        };
        let queries: Vec<RepositoryQuery> = plans.iter().filter_map(query).collect();
        let hits = reads.lexical_hits_of_each(source, selection, &queries, limit).await?;
        let mut by_repository = grouped(hits.into_iter());
        let of_query =
            |one: &RepositoryQuery| scores(by_repository.remove(&one.repository_id).unwrap_or_default());
        Ok(queries.iter().map(of_query).collect())
    }

    /// Adds dense candidates and chunks that define the queried name to the lexical ones, and completes the scores of
    /// each candidate for both retrievers. `first_page` is the number of candidates of a first page.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn candidates(
        &self,
        reads: &mut Reads,
        question: &Question,
        lexical: Vec<LexicalFound>,
        first_page: usize,
        took: &mut Stopwatch<'_>,
    ) -> Result<Vec<Candidates>, Fault> {
        let dense = match &question.vector {
            Some(vector) => self.dense(reads, vector, self.cuts(first_page)).await?,
            None => self.parts.iter().map(|_| Retrieved::new()).collect(),
        };
        // A search of comments only has no definitions.
        let mut named = match &self.selected.chunks {
            Some(_) => {
                let repositories = self.parts.iter().filter_map(|part| part.repository);
                let with_hidden = |id: i64| std::iter::once(id).chain(self.hidden.get(&id).copied());
                let repositories: Vec<i64> = repositories.flat_map(with_hidden).collect();
                exact_name::definitions(reads, &question.query, &self.within, &repositories).await?
            }
            None => HashMap::new(),
        };
        took.timings.dense_ms += took.lap();
        let retrieved = lexical.into_iter().zip(dense).zip(&self.parts);
        let candidates = retrieved.map(|(((lexical, mut of_first_page), dense), part)| {
            of_first_page.extend(chunk_ids(&dense).take(first_page));
            let mut candidates = Candidates {
                dense_found: dense.len(),
                lexical,
                dense,
                first_page: of_first_page,
                ..Candidates::default()
            };
            for retrieved in [&mut candidates.lexical, &mut candidates.dense] {
                retrieved.retain(|(chunk_id, _)| Some(*chunk_id) != question.query.similar_to);
            }
            // Before completion, which adds the other retriever's candidates to each list.
            candidates.is_filled =
                candidates.lexical.len().max(candidates.dense.len()) >= part.plan.candidates;
            candidates
        });
        let mut candidates: Vec<Candidates> = candidates.collect();
        self.complete(reads, question, &mut named, &mut candidates).await?;
        took.timings.hydrate_ms += took.lap();
        Ok(candidates)
    }

    /// Returns the nearest chunks of each part.
    async fn dense(&self, reads: &mut Reads, vector: &[f32], cuts: Cuts) -> Result<Vec<Retrieved>, Fault> {
        let is_shared = |part: &&Part| part.plan.vector == VectorPath::Exact && !part.is_alone();
        let shared = self.parts.iter().filter(is_shared).filter_map(|part| part.repository);
        let missing: Vec<i64> = shared.filter(|id| !self.compared.contains_key(id)).collect();
        let vectors = &self.selected.vectors;
        let found = dense_of_each(reads, vectors, &missing, vector, cuts).await?;
        let mut all = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            all.push(match part.repository {
                Some(id) if is_shared(&part) => {
                    self.compared.get(&id).or(found.get(&id)).cloned().unwrap_or_default()
                }
                _ => {
                    let selection = part.own.as_ref().map_or(vectors, |own| &own.vectors);
                    dense(reads, selection, part.plan.vector, vector, cuts).await?
                }
            });
        }
        Ok(all)
    }

    /// Reads the facts of all candidates for the ranking, and adds to each retriever's list the scores of candidates that
    /// only the other one found, because a chunk beyond the limit of a list may still be similar. Chunks found only by name
    /// (`named`) get both scores. The lexical score is that of the first source that contains the chunk. Where there are several
    /// parts, their candidates also get the score with an equal idf for all terms.
    async fn complete(
        &self,
        reads: &mut Reads,
        question: &Question,
        named: &mut HashMap<i64, Vec<DefinitionRow>>,
        candidates: &mut [Candidates],
    ) -> Result<(), Fault> {
        let all = |list: fn(&Candidates) -> &Retrieved| -> Retrieved {
            candidates.iter().flat_map(list).copied().collect()
        };
        let (lexical, dense) = (all(|found| &found.lexical), all(|found| &found.dense));
        // If only one retriever answered, there is nothing to complete.
        let query_vector = question.vector.as_deref().filter(|_| !dense.is_empty());
        let has_terms = self.parts.iter().any(|part| !part.plan.lexical.terms.is_empty());
        let by_name: Vec<i64> = named.keys().copied().collect();
        let missing = MissingScores::new(&lexical, &dense, &by_name, query_vector.is_some(), has_terms);
        if missing.ids.is_empty() {
            return Ok(());
        }
        let is_several = self.parts.len() > 1;
        let words = |part: &Part| CandidateWords {
            repository_id: part.repository,
            query: lexical_query(&part.plan.lexical),
            other: is_several.then(|| lexical_query(&part.plan.lexical.with_equal_idf())),
        };
        let sources: Vec<LexicalSource> = self.selected.sources().map(|(source, _)| source).collect();
        let completion = Completion {
            ids: &missing.ids,
            needs_lexical: &missing.lexical,
            needs_similarity: &missing.dense,
            sources: &sources,
            words: &self.parts.iter().map(words).collect::<Vec<_>>(),
            // The number of users of a definition does not matter to a query that is its name, or an issue.
            counts_users: question.class.short_sentence() > 0.0,
            query_vector,
        };
        for row in reads.candidates(&completion).await? {
            let is_of = |part: &Part| part.repository.is_none_or(|id| id == row.repository_id);
            let Some(at) = self.parts.iter().position(is_of) else { continue };
            candidates[at].add(row, named);
        }
        for (part, candidates) in self.parts.iter().zip(candidates) {
            candidates.equal_idf = is_several.then(|| equal_idf_shares(&part.plan.lexical, &candidates.rows));
        }
        Ok(())
    }

    /// Returns the lengths of the lists of candidates, which are the same in all parts.
    fn cuts(&self, first_page: usize) -> Cuts {
        let all = self.parts.iter().map(|part| part.plan.candidates).max().unwrap_or(0);
        Cuts { first_page: first_page.min(all), all }
    }
}

/// Returns the nearest chunks of each of some repositories, by comparing all.
///
/// # Errors
/// Storage faults.
pub(in crate::search) async fn dense_of_each(
    reads: &mut Reads,
    selection: &ChunkSelection,
    repositories: &[i64],
    vector: &[f32],
    cuts: Cuts,
) -> Result<HashMap<i64, Retrieved>, Fault> {
    if repositories.is_empty() {
        return Ok(HashMap::new());
    }
    let scores = |hits: Vec<(i64, VectorHit)>| -> HashMap<i64, Retrieved> {
        grouped(hits.iter().map(|(repository, hit)| (*repository, dense_score(hit))))
    };
    let limit = sql_limit(cuts.read());
    let mut found = scores(reads.vector_hits_of_each(selection, repositories, vector, limit).await?);
    if let Some(more) = found.values().find_map(|found| cuts.read_again(found)) {
        let limit = sql_limit(more);
        found = scores(reads.vector_hits_of_each(selection, repositories, vector, limit).await?);
    }
    let mut all = HashMap::with_capacity(found.len());
    for (repository, found) in found {
        all.insert(repository, cuts.cut(reads, found).await?);
    }
    Ok(all)
}

impl Candidates {
    /// Adds a candidate's facts, the scores that a retriever lacked, and the definitions that have the queried name.
    fn add(&mut self, row: store::Candidate, named: &mut HashMap<i64, Vec<DefinitionRow>>) {
        let (chunk_id, file_id) = (row.id, row.file_id);
        let lexical = row.lexical.map(|score| LexicalHit { chunk_id, file_id, score });
        self.lexical.extend(lexical.as_ref().map(lexical_score));
        let near = row.similarity.map(|similarity| VectorHit { chunk_id, file_id, similarity });
        self.dense.extend(near.as_ref().map(dense_score));
        if let Some(definitions) = named.remove(&chunk_id) {
            self.named.insert(chunk_id, definitions);
            self.first_page.insert(chunk_id);
            // A chunk with the queried name stays a candidate even if it contains none of the terms.
            let is_scored = chunk_ids(&self.lexical).chain(chunk_ids(&self.dense)).any(|id| id == chunk_id);
            if !is_scored {
                self.lexical.push((chunk_id, 0.0));
            }
        }
        self.rows.push(row);
    }
}

/// Groups hits by repository, in their order.
fn grouped<T>(hits: impl Iterator<Item = (i64, T)>) -> HashMap<i64, Vec<T>> {
    let mut groups: HashMap<i64, Vec<T>> = HashMap::new();
    for (repository, hit) in hits {
        groups.entry(repository).or_default().push(hit);
    }
    groups
}
