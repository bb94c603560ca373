//! What search reads, from whichever holds it: a project's schema in Postgres, or a portable file.

use super::portable::Reader;
use super::project::{
    breakdown, chunks, definitions, filter, history, index_state, lexical, names, opening, vectors,
};
use super::{
    Access, Candidate, ChunkRow, ChunkSpan, Completion, DefinitionRow, FileFacts, Filter, IndexState,
    LanguageCount, LexicalHit, LexicalQuery, ModelFacts, Opening, Project, ProjectTx, Shown, Store,
    VectorHit, Within, Words,
};
use contract::Fault;

/// What is asked.
pub enum Index<'a> {
    /// A project's schema.
    Postgres(&'a Store, &'a Project),
    /// A portable file. Its reads block: ask it on a thread that may.
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

    /// Begins to read: all reads see one state.
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
#[expect(clippy::large_enum_variant, reason = "one a search; to box it would cost each search an allocation")]
pub enum Reads {
    /// A transaction on a project's schema.
    Postgres(ProjectTx),
    /// An open file.
    Portable(Box<Reader>),
}

/// One read a method, the same of both; what each answers is documented with the reads of Postgres.
macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident($($given:ident: $kind:ty),*) -> $answer:ty: $postgres:path, $portable:ident;)*) => {
        impl Reads {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// Storage faults.
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
    /// How far the index is.
    state() -> IndexState: index_state::read, state;
    /// What every question asks first.
    opening(terms: &[i32]) -> Opening: opening::read, opening;
    /// How many chunks there are.
    count_chunks() -> i64: chunks::count, count;
    /// How many texts of some repositories lack a vector.
    pending_within(repositories: &[i64]) -> i64: vectors::pending_within, pending_within;
    /// Chunks by language in the files that pass what a filter asks of files, most first.
    languages(filter: &Filter) -> Vec<LanguageCount>: breakdown::languages, languages;

    /// Ids of names that contain one of `texts`.
    find_names(fields: &[i16], texts: &[String], limit: i64) -> Vec<i64>: names::find, find_names;
    /// Names of some fields by their length in characters.
    names_of_length(fields: &[i16], length: (i32, i32), limit: i64) -> Vec<String>: names::of_length, names_of_length;
    /// Which of some values the chunks of some repositories have.
    held_within(ids: &[i64], repositories: &[i64]) -> Vec<i64>: names::held_within, held_within;
    /// Ids of the values of a field that are a text, or begin with it before one of some signs; upper and lower case alike.
    beginning(field: i16, text: &str, signs: &[&str]) -> Vec<i64>: names::beginning, beginning;
    /// Ids of the values of a field that end with a text, or hold it before one of some signs; the text is in lower case.
    ending(field: i16, text: &str, signs: &[&str]) -> Vec<i64>: names::ending, ending;
    /// Chunks that have one of these facts.
    chunks_with(ids: &[i64], flows: bool) -> Vec<i64>: names::chunks_with, chunks_with;
    /// The first chunks within, by path, and how many there are.
    listed(within: &Within, limit: i64) -> (Vec<i64>, i64): filter::listed, listed;

    /// In how many chunks terms stand.
    document_frequencies(terms: &[i32]) -> Vec<(i32, i32)>: lexical::document_frequencies, document_frequencies;
    /// The best chunks by words.
    by_words(words: Words, within: &Within, query: &LexicalQuery, limit: i64) -> Vec<LexicalHit>: lexical::candidates, candidates;
    /// The nearest chunks, each vector compared.
    by_meaning(within: &Within, question: &[f32], limit: i64) -> Vec<VectorHit>: vectors::candidates_exact, candidates_exact;
    /// The vector of a chunk, and whether there is such a chunk.
    vector_of(chunk_id: i64) -> (bool, Option<Vec<f32>>): vectors::of_chunk, of_chunk;

    /// Chunks with where they come from.
    hydrate(ids: &[i64]) -> Vec<ChunkRow>: chunks::hydrate, hydrate;
    /// Chunks that may answer, with the scores that one leg lacks.
    candidates(wanted: &Completion<'_>) -> Vec<Candidate>: chunks::candidates, completed;
    /// What is shown of chunks.
    shown(ids: &[i64]) -> Vec<Shown>: chunks::shown, shown;
    /// Texts of chunks.
    contents(ids: &[i64]) -> Vec<(i64, String)>: chunks::contents, contents;
    /// What chunks define.
    definitions(ids: &[i64]) -> Vec<DefinitionRow>: definitions::of_chunks, definitions;
    /// What the chunks within define that have one of these ids of names.
    named(ids: &[i64], within: &Within, limit: i64) -> Vec<DefinitionRow>: definitions::named, named;
    /// Comments of chunks.
    comments(ids: &[i64]) -> Vec<(i64, i32, i32, String)>: chunks::comments, comments;
    /// The chunks of a file.
    by_file(file_id: i64) -> Vec<ChunkSpan>: chunks::by_file, by_file;
    /// What chunks have.
    names_of(chunk_ids: &[i64]) -> Vec<(i64, i16, String)>: names::of_chunks, names_of_chunks;
    /// Chunks that have a value within a repository.
    holders(wanted: &[(i64, i64)], limit: i64) -> Vec<names::Holder>: names::holders, holders;
    /// What git knows of files.
    history_of(file_ids: &[i64]) -> Vec<(i64, FileFacts)>: history::of_files, of_files;
}

impl Reads {
    /// The chunks of a filter, in the form that is fastest to ask with.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn within(&mut self, filter: &Filter, rows_max: usize) -> Result<Within, Fault> {
        match self {
            Self::Postgres(tx) => filter::within(tx, filter, rows_max).await,
            Self::Portable(file) => file.within(filter),
        }
    }

    /// The nearest chunks by the HNSW index; a file has none and compares each vector.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn by_meaning_hnsw(
        &mut self,
        within: &Within,
        question: &[f32],
        limit: i64,
        ef_search: u32,
    ) -> Result<Vec<VectorHit>, Fault> {
        match self {
            Self::Postgres(tx) => vectors::candidates_hnsw(tx, within, question, limit, ef_search).await,
            Self::Portable(file) => file.candidates_exact(within, question, limit),
        }
    }

    /// Ends reading.
    pub fn end(self) {
        match self {
            // Nothing was written: who asked need not wait until the server knows that it is over.
            Self::Postgres(tx) => drop(tokio::spawn(async move {
                if let Err(fault) = tx.commit().await {
                    tracing::debug!(%fault, "a search was not ended well");
                }
            })),
            Self::Portable(_) => {}
        }
    }
}
