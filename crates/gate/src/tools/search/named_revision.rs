//! The revision that a call names: the default branch of a repository, or another indexed branch or tag, also by its commit.

use contract::{ErrorCode, Fault, echo};
use engine::search::{HEAD, KnownRevisions, is_start_of_commit};
use store::{RepositoryRow, RevisionRow};

/// A revision of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools) struct NamedRevision {
    /// Name of the branch or tag.
    pub(in crate::tools) name: String,
    /// The indexed commit, hex.
    pub(in crate::tools) commit: Option<String>,
    /// Its bit in the views of files; `None` for the default branch, which has files of its own.
    pub(super) view: Option<i64>,
}

impl From<&RevisionRow> for NamedRevision {
    fn from(row: &RevisionRow) -> Self {
        Self { name: row.name.clone(), commit: Some(row.commit.clone()), view: Some(row.view()) }
    }
}

impl NamedRevision {
    fn of_default_branch(repository: &RepositoryRow) -> Self {
        let name = repository.branch.clone().unwrap_or_else(|| HEAD.to_owned());
        Self { name, commit: repository.commit.clone(), view: None }
    }

    /// Finds the revision of a repository among the indexed ones of all. Names come before commits, and the default branch comes
    /// first.
    fn find(repository: &RepositoryRow, indexed: &[RevisionRow], named: &str) -> Option<Self> {
        if named == HEAD || repository.branch.as_deref() == Some(named) {
            return Some(Self::of_default_branch(repository));
        }
        let of_repository = || indexed.iter().filter(|row| row.repository_id == repository.id);
        if let Some(row) = of_repository().find(|row| row.name == named) {
            return Some(row.into());
        }
        if repository.commit.as_deref().is_some_and(|commit| is_start_of_commit(named, commit)) {
            return Some(Self::of_default_branch(repository));
        }
        of_repository().find(|row| is_start_of_commit(named, &row.commit)).map(Self::from)
    }
}

/// A repository, with its revision if a call names one.
pub(super) type RepositoryAtRevision = (RepositoryRow, Option<NamedRevision>);

/// The repositories that have the revision of this name.
///
/// # Errors
/// `INVALID_REQUEST` if none of the repositories can have revisions; `NOT_FOUND` if none has this one, with those that are indexed.
pub(super) fn repositories_at(
    repositories: Vec<RepositoryRow>,
    indexed: &[RevisionRow],
    named: &str,
) -> Result<Vec<RepositoryAtRevision>, Fault> {
    let had_any = !repositories.is_empty();
    let with_commits: Vec<RepositoryRow> = repositories.into_iter().filter(has_revisions).collect();
    if had_any && with_commits.is_empty() {
        let message = "Only repositories that are given by their address have revisions.";
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(
            "Leave `revision` out to read the file as it is, or index the repository by its address.",
        ));
    }
    let at = |row: &RepositoryRow| Some((row.clone(), Some(NamedRevision::find(row, indexed, named)?)));
    let found: Vec<RepositoryAtRevision> = with_commits.iter().filter_map(at).collect();
    if found.is_empty() { Err(unknown_revision_fault(&with_commits, indexed, named)) } else { Ok(found) }
}

/// Returns `true` if a repository consists of commits: it is given by its address, even in the project from which it was imported.
fn has_revisions(row: &RepositoryRow) -> bool {
    !row.has_path() && !row.is_records()
}

fn unknown_revision_fault(repositories: &[RepositoryRow], indexed: &[RevisionRow], named: &str) -> Fault {
    let KnownRevisions { names, hint } = KnownRevisions::new(repositories, indexed);
    Fault::new(ErrorCode::NotFound, format!("No indexed revision is called `{}`.", echo(named)))
        .with_details(serde_json::json!({ "revision": echo(named), "revisions": names }))
        .with_hint(hint)
}

/// The fault for a file that a revision does not have.
pub(super) fn not_in_revision_fault(path: &str, revision: &str) -> Fault {
    let message = format!("The revision `{}` has no file `{}`.", echo(revision), echo(path));
    Fault::new(ErrorCode::NotFound, message)
        .with_details(serde_json::json!({ "path": echo(path), "revision": echo(revision) }))
        .with_hint(
            "Search in the revision with `rev:NAME`, or leave `revision` out to read the default branch.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{RepositoryState, Versions};

    const MAIN: &str = "0123456789abcdef0123456789abcdef01234567";
    const RELEASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn repository(id: i64, root: &str) -> RepositoryRow {
        RepositoryRow {
            id,
            root: root.to_owned(),
            name: "shop".to_owned(),
            state: RepositoryState::Ready,
            generation: 1,
            versions: Versions::default(),
            files: 1,
            chunks: 1,
            statistics_chunks: 1,
            is_counted: true,
            indexed_ms: Some(1),
            branch: Some("main".to_owned()),
            commit: Some(MAIN.to_owned()),
            report: None,
        }
    }

    fn revision(repository_id: i64, bit: i16, name: &str) -> RevisionRow {
        RevisionRow {
            repository_id,
            hidden_id: None,
            bit,
            name: name.to_owned(),
            kind: "branch".to_owned(),
            commit: RELEASE.to_owned(),
        }
    }

    #[test]
    fn a_revision_is_named_by_its_name_or_its_commit() {
        let shop = repository(1, "https://host/acme/shop");
        let indexed = [revision(2, 0, "other"), revision(1, 3, "release/1.0"), revision(1, 4, "0123456")];
        let find = |named: &str| NamedRevision::find(&shop, &indexed, named);
        for named in ["main", "HEAD", "01234567", &MAIN.to_uppercase()] {
            let found = find(named).unwrap();
            assert_eq!((found.name.as_str(), found.view), ("main", None), "{named}");
            assert_eq!(found.commit.as_deref(), Some(MAIN));
        }
        for named in ["release/1.0", "89abcde", RELEASE] {
            let found = find(named).unwrap();
            assert_eq!((found.name.as_str(), found.view), ("release/1.0", Some(8)), "{named}");
            assert_eq!(found.commit.as_deref(), Some(RELEASE));
        }
        assert_eq!(find("0123456").unwrap().view, Some(16), "a name comes before a commit");
        for named in ["other", "release", "release/*", "89abcd", "", "head"] {
            assert_eq!(find(named), None, "{named}");
        }
    }

    #[test]
    fn an_unknown_revision_is_answered_with_the_indexed_ones() {
        let shop = repository(1, "https://host/acme/shop");
        let indexed: Vec<RevisionRow> =
            (0..15).map(|bit| revision(1, bit, &format!("v{bit:02}"))).chain([revision(2, 0, "x")]).collect();
        let fault = repositories_at(vec![shop.clone()], &indexed, "v99").unwrap_err();
        assert_eq!(fault.code, ErrorCode::NotFound);
        let hint = fault.hint.unwrap();
        assert!(hint.starts_with("Indexed are main, v00, v01") && hint.contains("v10 and 4 more."), "{hint}");
        let fault = repositories_at(vec![shop], &[], "v\n").unwrap_err();
        assert!(!fault.message.contains('\n') && fault.hint.unwrap().starts_with("Indexed are main."));
    }

    #[test]
    fn folders_have_no_revisions() {
        let folder = repository(1, "/srv/shop");
        let fault = repositories_at(vec![folder.clone()], &[], "main").unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest);
        // Folders do not count next to other repositories.
        let (imported, other) = (repository(2, "imported:shop"), repository(3, "https://host/acme/bank"));
        let all = vec![folder, imported, other];
        let found = repositories_at(all.clone(), &[revision(2, 0, "v1")], "v1").unwrap();
        assert_eq!(found.iter().map(|(row, _)| row.id).collect::<Vec<_>>(), [2]);
        assert_eq!(repositories_at(all, &[], "HEAD").unwrap().len(), 2);
        assert_eq!(repositories_at(Vec::new(), &[], "HEAD").unwrap_err().code, ErrorCode::NotFound);
    }
}
