//! The reads of search, on either kind of index: a project's schema in Postgres, or a portable file.

use super::portable::Reader;
use super::project::{
    breakdown, chunks, copies, definitions, facets, filter, grams, history, hit_edges, index_state, lexical,
    names, overview, revisions, several, statistics, vectors,
};
use super::{
    Access, Candidate, ChunkDetails, ChunkRow, ChunkSelection, ChunkSpan, ChunkText, Completion,
    CountedValue, DefinitionRow, FileFacts, FilePlace, FileViews, Filter, GramQuery, IndexOverview,
    IndexState, LanguageCount, LexicalHit, LexicalQuery, LexicalSource, ModelFacts, OtherPlaces, Project,
    ProjectTx, RepositoryQuery, RevisionRow, SearchedPlaces, Store, TermCount, TextPlace, VectorHit,
};
use contract::Fault;

/// An index to search.
pub enum Index<'a> {
    /// A project's schema.
    Postgres(&'a Store, &'a Project),
    /// A portable file. Its reads block, so use it on a blocking thread.
    Portable(Box<Reader>),
}

impl Index<'_> {
    /// The model of its vectors.
    #[must_use]
    pub fn model(&self) -> &ModelFacts {
        match self {
            Self::Postgres(_, project) => project.model(),
            Self::Portable(file) => file.model(),
        }
    }

    /// Begins reading: all reads see the same snapshot.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when no connection comes in time.
    pub async fn begin(self) -> Result<Reads, Fault> {
        Ok(match self {
            Self::Postgres(store, project) => {
                Reads::Postgres(ProjectTx::begin(store, project, Access::Search).await?)
            }
            Self::Portable(file) => Reads::Portable(file),
        })
    }
}

/// An index that is being read.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per search, and a box would cost each search an allocation"
)]
pub enum Reads {
    /// A transaction on a project's schema.
    Postgres(ProjectTx),
    /// An open file.
    Portable(Box<Reader>),
}

/// Generates a method for each read: its name and signature, the function for Postgres, and the method of the portable reader.
macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident($($given:ident: $kind:ty),*) -> $answer:ty: $postgres:path, $portable:ident;)*) => {
        impl Reads {
            $(
                $(#[$doc])*
                pub async fn $name(&mut self, $($given: $kind),*) -> Result<$answer, Fault> {
                    match self {
                        Self::Postgres(tx) => $postgres(tx, $($given),*).await,
                        Self::Portable(file) => file.$portable($($given),*),
                    }
                }
            )*
        }
    };
}

reads! {
    /// The state of the index.
    state() -> IndexState: index_state::read, state;
    /// State, repositories and document frequencies, which every search reads first.
    overview(terms: &[i32], roots: &[String]) -> IndexOverview: overview::read, overview;
    /// The number of chunks.
    count_chunks() -> i64: chunks::count, count;
    /// The number of different texts of some repositories that have no vector yet.
    pending_within(repositories: &[i64]) -> i64: vectors::pending_within, pending_within;
    /// Numbers of chunks by language, in the files that pass the file conditions of a filter, largest first.
    languages(filter: &Filter) -> Vec<LanguageCount>: breakdown::languages, languages;

    /// Ids of names that contain one of `texts`.
    find_names(fields: &[i16], texts: &[String], limit: i64) -> Vec<i64>: names::containing, find_names;
    /// Names of some fields whose length in characters is in a range.
    names_of_lengths(fields: &[i16], lengths: &[i32], limit: i64) -> Vec<String>: names::of_lengths, names_of_lengths;
    /// Those of some values that occur in chunks of some repositories.
    used_in_repositories(ids: &[i64], repositories: &[i64]) -> Vec<i64>: names::used_in_repositories, used_in_repositories;
    /// Ids of the values of a field that equal a text, or begin with the text and a separator, ignoring case.
    names_with_prefix(field: i16, text: &str, separators: &[&str]) -> Vec<i64>: names::with_prefix, with_prefix;
    /// Ids of the values of a field that end with a text, or contain the text and a separator after it, ignoring case.
    names_with_suffix(field: i16, text: &str, separators: &[&str]) -> Vec<i64>: names::with_suffix, with_suffix;
    /// Chunks that have one of these facts.
    chunks_with(ids: &[i64], flows: bool) -> Vec<i64>: names::chunks_with, chunks_with;
    /// The first of the selected chunks, by path, and the number of all selected chunks.
    listed(selection: &ChunkSelection, limit: i64) -> (Vec<i64>, i64): filter::listed, listed;

    /// The document frequencies of terms in some repositories: the number of chunks that contain each.
    document_frequencies(repositories: &[i64], terms: &[i32]) -> Vec<TermCount>: statistics::document_frequencies, document_frequencies;
    /// The terms that occur in some chunks, each with the number of these chunks.
    terms_within(chunk_ids: &[i64], terms: &[i32]) -> Vec<(i32, i64)>: statistics::terms_within, terms_within;
    /// The chunks with the best lexical scores.
    lexical_hits(source: LexicalSource, selection: &ChunkSelection, query: &LexicalQuery, limit: i64) -> Vec<LexicalHit>: lexical::candidates, candidates;
    /// The chunks of each repository with the best lexical scores, with their repository.
    lexical_hits_of_each(source: LexicalSource, selection: &ChunkSelection, queries: &[RepositoryQuery], limit: i64) -> Vec<(i64, LexicalHit)>: several::lexical_hits, candidates_of_each;
    /// The nearest chunks of each repository, by an exact scan, with their repository.
    vector_hits_of_each(selection: &ChunkSelection, repositories: &[i64], query_vector: &[f32], limit: i64) -> Vec<(i64, VectorHit)>: several::vector_hits, nearest_of_each;
    /// The nearest chunks, by an exact scan.
    vector_hits(selection: &ChunkSelection, query_vector: &[f32], limit: i64) -> Vec<VectorHit>: vectors::candidates_exact, candidates_exact;
    /// The vector of a chunk, and whether there is such a chunk.
    vector_of(chunk_id: i64) -> (bool, Option<Vec<f32>>): vectors::of_chunk, of_chunk;

    /// Chunks with their files and repositories.
    hydrate(ids: &[i64]) -> Vec<ChunkRow>: chunks::hydrate, hydrate;
    /// Candidates with the scores that one of the retrievers did not give.
    candidates(wanted: &Completion<'_>) -> Vec<Candidate>: chunks::candidates, completed;
    /// The places of chunks, and the fingerprints of their texts.
    places(ids: &[i64]) -> Vec<TextPlace>: copies::places, places;
    /// The other places of the texts of chunks.
    other_places(ids: &[i64], searched: SearchedPlaces<'_>) -> Vec<OtherPlaces>: copies::other_places, other_places;
    /// Chunks with their texts and displayed facts.
    details(ids: &[i64]) -> Vec<ChunkDetails>: chunks::details, details;
    /// Texts of chunks.
    contents(ids: &[i64]) -> Vec<(i64, String)>: chunks::contents, contents;
    /// The definitions in chunks.
    definitions(ids: &[i64]) -> Vec<DefinitionRow>: definitions::of_chunks, definitions;
    /// The definitions in the selected chunks of some repositories (empty: all) that have one of these facts, each with its repository.
    named(ids: &[i64], selection: &ChunkSelection, repositories: &[i64], limit: i64) -> Vec<(i64, DefinitionRow)>: definitions::named, named;
    /// Comments of chunks.
    comments(ids: &[i64]) -> Vec<(i64, i32, i32, String)>: chunks::comments, comments;
    /// The chunks of a file.
    by_file(file_id: i64) -> Vec<ChunkSpan>: chunks::by_file, by_file;
    /// The facts of chunks: chunk, field, value.
    names_of(chunk_ids: &[i64]) -> Vec<(i64, i16, String)>: names::of_chunks, names_of_chunks;
    /// Chunks that have a fact, for pairs of a fact and a repository.
    chunks_with_facts(wanted: &[(i64, i64)], limit: i64) -> Vec<names::ChunkWithFact>: names::chunks_with_facts, chunks_with_facts;
    /// Chunks with their files whose trigrams pass, at most `limit`; chunks without trigrams pass, so there may be twice as many.
    gram_candidates(selection: &ChunkSelection, query: &GramQuery, limit: i64) -> Vec<(i64, i64)>: grams::candidates, gram_candidates;
    /// Files with their paths and languages.
    file_places(ids: &[i64]) -> Vec<FilePlace>: grams::files, file_places;
    /// All files that may have chunks of the selection.
    file_places_within(selection: &ChunkSelection) -> Vec<FilePlace>: grams::files_within, file_places_within;
    /// Texts of chunks with their places.
    chunk_texts(ids: &[i64]) -> Vec<ChunkText>: grams::texts, chunk_texts;
    /// Texts of the selected chunks of some files whose trigrams pass.
    texts_of_files(files: &[i64], selection: &ChunkSelection, query: &GramQuery) -> Vec<ChunkText>: grams::texts_of_files, texts_of_files;
    /// The git history of files.
    history_of(file_ids: &[i64]) -> Vec<(i64, FileFacts)>: history::of_files, of_files;
}

impl Reads {
    /// The chunks that match a filter, in the form that is fastest to search: see [`filter::select_chunks`].
    pub async fn select_chunks(
        &mut self,
        filter: &Filter,
        limits: (usize, u64),
    ) -> Result<ChunkSelection, Fault> {
        match self {
            Self::Postgres(tx) => filter::select_chunks(tx, filter, limits).await,
            Self::Portable(file) => file.select_chunks(filter),
        }
    }

    /// The nearest chunks, approximately, by the HNSW index; in a portable file, by an exact scan.
    pub async fn vector_hits_hnsw(
        &mut self,
        selection: &ChunkSelection,
        query_vector: &[f32],
        limit: i64,
        ef_search: u32,
    ) -> Result<Vec<VectorHit>, Fault> {
        match self {
            Self::Postgres(tx) => {
                vectors::candidates_hnsw(tx, selection, query_vector, limit, ef_search).await
            }
            Self::Portable(file) => file.candidates_exact(selection, query_vector, limit),
        }
    }

    /// Those of some files whose names are known, so that calls in them are resolved; `None` for a portable file, which has no
    /// resolved calls.
    pub async fn files_with_symbols(&mut self, files: &[i64]) -> Result<Option<Vec<i64>>, Fault> {
        match self {
            Self::Postgres(tx) => hit_edges::files_with_symbols(tx, files).await.map(Some),
            Self::Portable(_) => Ok(None),
        }
    }

    /// The indexed revisions of all repositories; a portable file has the default branch only.
    pub async fn revisions(&mut self) -> Result<Vec<RevisionRow>, Fault> {
        match self {
            Self::Postgres(tx) => revisions::list(tx).await,
            Self::Portable(_) => Ok(Vec::new()),
        }
    }

    /// The revisions that have some files; nothing for a portable file.
    pub async fn views_of(&mut self, files: &[i64]) -> Result<Vec<FileViews>, Fault> {
        match self {
            Self::Postgres(tx) => revisions::views_of(tx, files).await,
            Self::Portable(_) => Ok(Vec::new()),
        }
    }

    /// The resolved calls to and from the definitions at places; empty in a portable file.
    pub async fn hit_edges(
        &mut self,
        places: &[hit_edges::DefinitionPlace],
    ) -> Result<Vec<hit_edges::HitEdge>, Fault> {
        match self {
            Self::Postgres(tx) if !places.is_empty() => hit_edges::read(tx, places).await,
            _ => Ok(Vec::new()),
        }
    }

    /// The hits in chunks by their properties: see [`facets::count`]; nothing for a portable file, which no page shows.
    pub async fn facets(
        &mut self,
        hits: &[(i64, i64)],
        fields: &[(i16, &str)],
    ) -> Result<Vec<CountedValue>, Fault> {
        match self {
            Self::Postgres(tx) if !hits.is_empty() => facets::count(tx, hits, fields).await,
            _ => Ok(Vec::new()),
        }
    }

    /// Ends the transaction in the background.
    pub fn end(self) {
        match self {
            // Nothing was written, so the caller need not wait for the commit.
            Self::Postgres(tx) => drop(tokio::spawn(async move {
                if let Err(fault) = tx.commit().await {
                    tracing::debug!(%fault, "the transaction of a search was not ended properly");
                }
            })),
            Self::Portable(_) => {}
        }
    }
}
