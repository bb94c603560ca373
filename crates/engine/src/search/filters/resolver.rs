//! The resolver of a search's filters: its inputs, and the warnings and names that it records.

use std::collections::HashMap;

use crate::search::filters::fields::FilterField;
use crate::search::filters::narrowed_name::NarrowedName;
use crate::search::filters::revisions::AskedRevisions;
use contract::clock::Clock;
use contract::{Warning, config};
use store::{Reads, RepositoryRow};

/// Resolves filter fields and clauses. Names are looked up in the index, so that the filter consists of ids.
pub(in crate::search) struct Resolver<'a> {
    pub(in crate::search) reads: &'a mut Reads,
    pub(in crate::search) clock: &'a dyn Clock,
    pub(in crate::search) repositories: &'a [RepositoryRow],
    pub(in crate::search) case_file: bool,
    pub(in crate::search) case_tokens: bool,
    pub(in crate::search) settings: &'a config::Search,
    /// `true` if not everything that is indexed is searched: only `repositories`, and of them the revisions that are asked for.
    pub(in crate::search) is_part: bool,
    /// Fields that were used, for warnings about them.
    pub(in crate::search) used: Vec<&'static FilterField>,
    pub(in crate::search) warnings: Vec<Warning>,
    /// Filters that pass less than a name does, for a warning about the hits that they exclude.
    pub(in crate::search) narrowed: Vec<NarrowedName>,
    /// Values of the filters, so that hits can show where they match.
    pub(in crate::search) terms: FilterTerms,
    /// The revisions that are asked for.
    pub(in crate::search) asked: AskedRevisions,
}

/// Values of filters, used by hits to show where the filters match.
#[derive(Debug, Default)]
pub(in crate::search) struct FilterTerms {
    /// Fact ids that were resolved to chunks; the matched definition has one id of each list.
    pub(in crate::search) ids: Vec<Vec<i64>>,
    /// Names in filters, as written in code, in lower case.
    pub(in crate::search) names: Vec<String>,
    /// Phrases in lower case, whitespace folded.
    pub(in crate::search) phrases: Vec<String>,
    /// The first line that a content filter matches, by chunk.
    pub(in crate::search) lines: HashMap<i64, u32>,
}

impl FilterTerms {
    /// Adds the last name of a value, without arguments and types: `save` of `api.save(x)`.
    pub(super) fn add_name(&mut self, value: &str) {
        let bare = value.trim_start_matches(|c: char| !is_name_char(c));
        let head = bare.split(['(', '<', '[', '{', '=']).next().unwrap_or_default();
        let last = head.split(|c: char| !is_name_char(c)).rfind(|part| !part.is_empty());
        self.names.extend(last.filter(|name| name.len() > 1).map(str::to_lowercase));
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
