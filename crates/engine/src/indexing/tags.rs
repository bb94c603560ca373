//! The commits that tags of a repository point to.

use std::path::Path;
use std::time::{Duration, Instant};

use super::historian::{Historian, HistoryLocation, RequestDeadline};
use super::parser::Parsing;
use ::history::FoundRepository;
use tenancy::AllowedRoots;

/// Time limit for reading a tag.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Returns the commit with this id, or the one that the annotated tag with this id points to, in the repository around a directory. `None`
/// if there is no such commit, or it cannot be read. Blocks.
#[must_use]
pub fn tagged_commit(root: &Path, id: &str, allowed: &AllowedRoots, parsing: &Parsing) -> Option<String> {
    let found = FoundRepository::find(root, &|path| allowed.contains(path)).ok()?;
    let location = HistoryLocation::from_found(root, &found)?;
    let until = RequestDeadline { deadline: Instant::now() + TIME_MAX, cancelled: &|| false };
    let mut historian = Historian::open(&location, parsing, &until).ok()?;
    historian.peeled(id, &until).ok()?
}
