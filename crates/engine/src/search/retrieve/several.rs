//! Plans the parts of a search. Each of several repositories is a part of its own; of many, the best are chosen first.

use std::collections::HashMap;
use std::sync::Arc;

use crate::search::execute::{SearchDeps, term_ids};
use crate::search::filters::scope::{ResolvedScope, Selections, count};
use crate::search::query::exact_name;
use crate::search::rank::fuse::Retrieved;
use crate::search::retrieve::choice::{CHOICE_CANDIDATES, CHOICE_CANDIDATES_MAX, Choice};
use crate::search::retrieve::part::{Part, Question};
use crate::search::retrieve::parts::{Parts, dense_of_each};
use crate::search::retrieve::plan::{Plan, VectorPath, plan};
use crate::search::retrieve::retrievers::{dense, equal_idf_hits};
use crate::search::retrieve::statistics::{Statistics, largest};
use crate::search::retrieve::ties::Cuts;
use contract::Fault;
use languages::terms::QueryTerm;
use store::{Reads, RepositoryRow};

/// Maximum number of repositories that are parts of a search, so that its cost does not grow with the project.
pub(in crate::search) const PARTS_MAX: usize = 8;

/// The number of chunks whose words are read in about the time in which one vector is looked up and compared.
const WORDS_PER_VECTOR: u64 = 4;

/// Maximum number of repositories whose nearest chunks are kept while the best repositories are chosen.
const COMPARED_MAX: usize = 64;

/// Plans the parts of a search.
pub(in crate::search) struct Planner<'s> {
    pub(in crate::search) deps: SearchDeps<'s>,
    pub(in crate::search) terms: Vec<QueryTerm>,
    pub(in crate::search) statistics: Statistics,
    /// `true` if vectors are compared.
    pub(in crate::search) embeds: bool,
    /// The last candidate that the page needs.
    pub(in crate::search) last: usize,
    /// Method by which vectors were compared to choose repositories.
    pub(in crate::search) chosen_by: VectorPath,
}

impl Planner<'_> {
    /// Plans for as many candidates as a far page has, because equal texts leave too few for this page. Returns whether the number grew.
    pub(in crate::search) fn widen(&mut self) -> bool {
        let settings = self.deps.settings;
        let is_wide = self.last > settings.candidates;
        self.last = settings.offset_max + settings.top_max;
        // Each stage is reported once.
        self.deps.on_stage = &|_| {};
        !is_wide
    }

    /// Plans the only part, or a part for each repository.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn parts(
        &mut self,
        reads: &mut Reads,
        scope: &ResolvedScope,
        question: &Question,
    ) -> Result<Parts, Fault> {
        let searched = scope.searched();
        let mut compared = HashMap::new();
        let chosen = match searched.as_slice() {
            [] | [_] => {
                let selected = Arc::clone(&scope.selected);
                let repository = searched.first().copied().or(scope.repositories.first());
                let root = repository.map(|repository| repository.root.clone()).unwrap_or_default();
                let rows = selected.rows;
                let plan = self.plan(scope, (&selected, rows), repository);
                return Ok(Parts {
                    within: selected.vectors.clone(),
                    selected,
                    parts: vec![Part { root, repository: None, rows, plan, own: None }],
                    compared,
                    hidden: HashMap::new(),
                });
            }
            few if few.len() <= PARTS_MAX => few.to_vec(),
            many => {
                let ids;
                (ids, compared) = self.choose(reads, scope, question, many).await?;
                // Without any candidate, any repository shows that nothing is found.
                let chosen: Vec<&RepositoryRow> =
                    many.iter().copied().filter(|repository| ids.contains(&repository.id)).collect();
                if chosen.is_empty() { many[..1].to_vec() } else { chosen }
            }
        };
        self.count_terms(reads, &searched, &chosen).await?;
        let together = self.together(reads, scope, &chosen).await?;
        let mut parts = Vec::new();
        for repository in chosen {
            parts.push(self.part(reads, scope, together.as_ref(), repository).await?);
        }
        let selected =
            together.map_or_else(|| Arc::clone(&scope.selected), |(selected, _)| Arc::new(selected));
        let hidden_of = |part: &Part| Some((part.repository?, scope.asked.hidden_of(part.repository?)?));
        let hidden = parts.iter().filter_map(hidden_of).collect();
        Ok(Parts { selected, within: scope.chunks_within_repositories().clone(), parts, compared, hidden })
    }

    /// Returns the chunks of the repositories that are searched together, with their ids. A repository that is searched alone is treated in
    /// the same way: by all terms if a filter lists its chunks, otherwise as a whole.
    async fn together(
        &self,
        reads: &mut Reads,
        scope: &ResolvedScope,
        chosen: &[&RepositoryRow],
    ) -> Result<Option<(Selections, Vec<i64>)>, Fault> {
        let mut few = chosen.to_vec();
        if !scope.selected.is_narrowed {
            few.sort_by_key(|repository| (repository.chunks, repository.id));
            let sums = few.iter().scan(0, |sum: &mut u64, repository| {
                *sum += count(repository.chunks);
                Some(*sum)
            });
            // Statements for several read the words of all their chunks: an index on terms would find the common words of one,
            // because they are rare in another.
            let together_max = self.deps.settings.exact_rows_max.saturating_mul(WORDS_PER_VECTOR);
            let fitting = sums.take_while(|sum| *sum <= together_max).count();
            few.truncate(fitting);
        }
        // A single repository gains nothing; and the chunks of revisions belong to one repository, which statements for several ignore.
        if few.len() < 2 || scope.asked.any() {
            return Ok(None);
        }
        let selected = scope.select_within(reads, &few, self.deps.settings).await?;
        let ids = few.iter().map(|repository| repository.id).collect();
        Ok((!selected.is_narrowed || selected.is_listed()).then_some((selected, ids)))
    }

    /// Plans the part of one of several repositories; `together` are those that are searched together.
    async fn part(
        &self,
        reads: &mut Reads,
        scope: &ResolvedScope,
        together: Option<&(Selections, Vec<i64>)>,
        repository: &RepositoryRow,
    ) -> Result<Part, Fault> {
        let (id, root) = (Some(repository.id), repository.root.clone());
        if let Some((selected, _)) = together.filter(|(_, ids)| ids.contains(&repository.id)) {
            // A repository whose first run has not ended has no published count.
            let rows = Some(count(repository.chunks)).filter(|rows| *rows > 0).unwrap_or(selected.rows);
            let rows = rows.min(selected.rows);
            let plan = self.plan(scope, (selected, rows), Some(repository));
            if !matches!(plan.vector, VectorPath::Hnsw(_)) {
                return Ok(Part { root, repository: id, rows, plan, own: None });
            }
        }
        let own = scope.select_within(reads, &[repository], self.deps.settings).await?;
        let plan = self.plan(scope, (&own, own.rows), Some(repository));
        Ok(Part { root, repository: id, rows: own.rows, plan, own: Some(own) })
    }

    /// Plans a part. `repository` is the one that it consists of.
    fn plan(
        &self,
        scope: &ResolvedScope,
        part: (&Selections, u64),
        repository: Option<&RepositoryRow>,
    ) -> Plan {
        let counted = repository.map_or(0, |repository| self.statistics.counted(repository));
        let frequency = |term| repository.map_or(0, |repository| self.statistics.frequency(repository, term));
        let counts = scope.counts(part, repository.as_slice(), counted, self.embeds);
        let mut plan = plan(&self.terms, &frequency, counts, self.deps.settings, self.deps.ranking);
        plan.candidates = self.candidates();
        plan
    }

    /// Returns the most candidates of each retriever in each part.
    fn candidates(&self) -> usize {
        let settings = self.deps.settings;
        // For a page beyond the usual candidates, as many as the last possible page needs, so that all further pages rank the
        // same candidates.
        let further =
            if self.last > settings.candidates { settings.offset_max + settings.top_max } else { 0 };
        settings.candidates.max(further)
    }

    /// Reads the document frequencies of chosen repositories that are not among the largest.
    async fn count_terms(
        &mut self,
        reads: &mut Reads,
        searched: &[&RepositoryRow],
        chosen: &[&RepositoryRow],
    ) -> Result<(), Fault> {
        let known: Vec<i64> = largest(searched).map(|repository| repository.id).collect();
        let ids = chosen.iter().map(|repository| repository.id);
        let missing: Vec<i64> = ids.filter(|id| !known.contains(id)).collect();
        if !missing.is_empty() {
            let counts = reads.document_frequencies(&missing, &term_ids(&self.terms)).await?;
            self.statistics.add(counts);
        }
        Ok(())
    }

    /// Returns the repositories with the best candidates, at most [`PARTS_MAX`]: those that define the queried name, those with
    /// most of its terms, and those whose vectors are nearest, in turn. No idf takes part, as it would favour repositories in
    /// which a word of the query is rare: a chance mention there would count more than the home of the word. Copies of a text
    /// count for one repository. Also returns the nearest chunks of each repository, if all their vectors were compared for that.
    async fn choose(
        &mut self,
        reads: &mut Reads,
        scope: &ResolvedScope,
        question: &Question,
        searched: &[&RepositoryRow],
    ) -> Result<(Vec<i64>, HashMap<i64, Retrieved>), Fault> {
        let (selected, settings) = (&scope.selected, self.deps.settings);
        let frequency = |term| self.statistics.pooled(searched, term).1;
        let counted = self.statistics.pooled(searched, 0).0;
        let counts = scope.counts((selected, selected.rows), searched, counted, self.embeds);
        let plan = plan(&self.terms, &frequency, counts, settings, self.deps.ranking);
        self.chosen_by = plan.vector;
        let named = match &selected.chunks {
            Some(_) => exact_name::definitions(reads, &question.query, &selected.vectors, &[]).await?,
            None => HashMap::new(),
        };
        let named: Retrieved = named.into_keys().map(|chunk_id| (chunk_id, 1.0)).collect();
        let mut compared = HashMap::new();
        if let Some(vector) = &question.vector
            && plan.vector == VectorPath::Exact
            && searched.len() <= COMPARED_MAX
            && !scope.asked.any()
        {
            let ids: Vec<i64> = searched.iter().map(|repository| repository.id).collect();
            let cuts = Cuts { first_page: settings.candidates, all: self.candidates() };
            compared = dense_of_each(reads, &selected.vectors, &ids, vector, cuts).await?;
        }
        let mut limit = CHOICE_CANDIDATES;
        loop {
            let lexical = equal_idf_hits(reads, selected, &plan.lexical, limit).await?;
            let near = match &question.vector {
                Some(_) if !compared.is_empty() => nearest(&compared, limit),
                Some(vector) => {
                    let cuts = Cuts { first_page: limit, all: limit };
                    dense(reads, &selected.vectors, plan.vector, vector, cuts).await?
                }
                None => Retrieved::new(),
            };
            let lists = [named.clone(), lexical, near];
            let choice = Choice::read(reads, lists, searched, self.deps.ranking).await?;
            if limit == CHOICE_CANDIDATES_MAX || !choice.is_crowded(limit) {
                return Ok((choice.repositories(PARTS_MAX), compared));
            }
            limit = CHOICE_CANDIDATES_MAX;
        }
    }
}

/// Returns the nearest chunks among those of several repositories, best first; ties are ordered by chunk.
fn nearest(compared: &HashMap<i64, Retrieved>, limit: usize) -> Retrieved {
    let mut all: Retrieved = compared.values().flatten().copied().collect();
    all.sort_by(|(chunk, score), (other, other_score)| other_score.total_cmp(score).then(chunk.cmp(other)));
    all.truncate(limit);
    all
}
