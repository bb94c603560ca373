//! Reuses the vectors in portable files of an earlier build, so that a run embeds only the missing texts. Nothing else in these files is
//! trusted: a wrong vector degrades the ranking, while a wrong row would be a false answer.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::context::RunContext;
use super::historian::{GRACE, Historian, HistoryLocation, RequestDeadline};
use super::report::{ArtifactRelation, RestoredArtifacts, UsedArtifact};
use super::{history, vectors};
use ::history::FoundRepository;
use contract::Fault;
use platform::safe_open::{DirectoryEntry, EntryKind, Folder};
use platform::sha256;
use platform::task::blocking;
use store::portable::{
    ArtifactCommit, LexicalBackend, Limits, Reader, Summary, VectorOut, checksum_path, is_portable, summarize,
};
use store::{Access, ProjectTx};

/// Maximum number of entries of the folder that are examined.
const ENTRIES_MAX: usize = 4096;
/// Maximum number of portable files whose metadata is read.
const SUMMARIES_MAX: usize = 64;
/// Maximum number of files that are read.
const FILES_MAX: usize = 16;
/// Texts that are looked up at a time, whose vectors are written in one transaction.
const PAGE_TEXTS: i64 = 2000;
/// Maximum length of a checksum file in bytes.
const CHECKSUM_BYTES_MAX: u64 = 4096;

/// Stores the vectors of pending texts that the portable files in the folder contain, first from those that are nearest to HEAD of the
/// repository with this name. A folder without a usable file causes a note instead of an error, because it has none on a first build.
///
/// # Errors
/// `CANCELLED`, `ILLEGAL_STATE` if the fence is lost, storage faults.
pub(super) async fn restore(
    run: &RunContext<'_>,
    repository: &str,
    notes: &mut Vec<String>,
) -> Result<Option<RestoredArtifacts>, Fault> {
    let Some(folder) = run.options.artifacts.clone() else { return Ok(None) };
    // HEAD is only a preference, so its absence needs no note; the history of the run has one.
    let found = history::find_history(run).await.ok();
    let head = found.as_ref().and_then(|found| Some(found.head()?.commit.clone()));
    let search = ArtifactSearch {
        folder: PathBuf::from(folder),
        head,
        limits: Limits::from(&run.config.portable),
        model_hash: run.project.model().hash.clone(),
        cancel: run.cancel.clone(),
    };
    let (candidates, mut rejected) = blocking(move || Ok(search.candidates())).await?;
    notes.append(&mut rejected);
    let mut restored = RestoredArtifacts {
        files: candidates.len() as u64,
        texts: vectors::count_pending(run).await?,
        ..RestoredArtifacts::default()
    };
    if restored.texts == 0 || candidates.is_empty() {
        return Ok(Some(restored));
    }
    let ranked = rank(run, found.as_ref(), repository, candidates).await?;
    // A file with a wrong checksum counts too, because it is read whole.
    for candidate in ranked.into_iter().take(FILES_MAX) {
        if restored.vectors >= restored.texts {
            break;
        }
        match open(run, &candidate.path).await? {
            Ok(reader) => {
                let vectors = take_vectors(run, reader).await?;
                restored.vectors += vectors;
                restored.used.extend((vectors > 0).then(|| candidate.used(vectors)));
            }
            Err(why) => {
                restored.files -= 1;
                notes.push(format!("The artifact {} was skipped. {why}", candidate.file));
            }
        }
    }
    Ok(Some(restored))
}

/// A search for artifacts, with the conditions that a usable one meets.
struct ArtifactSearch {
    folder: PathBuf,
    /// The commit of HEAD, in hex.
    head: Option<String>,
    limits: Limits,
    model_hash: Vec<u8>,
    cancel: CancellationToken,
}

/// A portable file with vectors of the project's model.
#[derive(Debug, Clone)]
struct Candidate {
    path: PathBuf,
    /// Name of the file, for reports.
    file: String,
    /// Names and commits of the repositories in it. If it was made for a commit, this is the only one.
    repositories: Vec<(String, Option<String>)>,
    is_dirty: bool,
    built_at: String,
}

impl ArtifactSearch {
    /// Reads the metadata of the portable files; returns those with vectors of the model, and notes about the rejected ones.
    fn candidates(&self) -> (Vec<Candidate>, Vec<String>) {
        let paths = self.portable_files();
        let (mut candidates, mut notes) = (Vec::new(), Vec::new());
        if paths.is_empty() {
            notes.push(
                "No portable index file was found among the artifacts; every text was embedded.".to_owned(),
            );
        }
        if let Some(more) = paths.len().checked_sub(SUMMARIES_MAX).filter(|more| *more > 0) {
            notes.push(format!("The folder of artifacts has {more} more files, which were not looked at."));
        }
        for path in paths.into_iter().take(SUMMARIES_MAX) {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let summary = open_in_place(&path)
                .and_then(|_| summarize(&path, self.limits, &self.cancel).map_err(|fault| fault.message));
            match summary {
                Ok(summary) if summary.meta.model.hash == self.model_hash => {
                    candidates.push(Candidate::new(path, file, summary));
                }
                Ok(Summary { meta, .. }) => notes.push(format!(
                    "The artifact {file} contains vectors of another model ({}).",
                    meta.model.id
                )),
                Err(why) => notes.push(format!("The artifact {file} was skipped. {why}")),
            }
        }
        (candidates, notes)
    }

    /// Returns the portable files in the folder: those with HEAD in their name first, then the newest.
    fn portable_files(&self) -> Vec<PathBuf> {
        // A link may have been put there since the path was checked.
        let entries = Folder::open(&self.folder).and_then(|folder| folder.entries(ENTRIES_MAX));
        let entries = entries.map(|(entries, _)| entries).unwrap_or_default();
        // Skip links, which could point to files outside of the folder.
        let regular = entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
        let path = |DirectoryEntry { name, .. }| self.folder.join(name);
        let mut paths: Vec<PathBuf> = regular.map(path).filter(|path| is_portable(path)).collect();
        let modified = |path: &Path| -> Option<SystemTime> { path.symlink_metadata().ok()?.modified().ok() };
        paths.sort_by_cached_key(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_of_head = self.head.as_ref().is_some_and(|head| name.contains(head));
            (!is_of_head, Reverse(modified(path)), name)
        });
        paths
    }
}

impl Candidate {
    fn new(path: PathBuf, file: String, summary: Summary) -> Self {
        let Summary { meta, repositories } = summary;
        let is_dirty = meta.commit.as_ref().is_some_and(|commit| commit.is_dirty);
        let repositories = match (meta.commit, meta.repository) {
            (Some(ArtifactCommit { id, .. }), name) => vec![(name.unwrap_or_default(), Some(id))],
            _ => repositories,
        };
        Self { path, file, repositories, is_dirty, built_at: meta.built_at }
    }

    /// Returns the commits of the repositories in it.
    fn commits(&self) -> impl Iterator<Item = &str> {
        self.repositories.iter().filter_map(|(_, commit)| commit.as_deref())
    }

    /// Returns the relation to the repository with this name, and the commit that decides it. `position` gives the position of a commit in
    /// the history of HEAD.
    fn rank(&self, repository: &str, position: impl Fn(&str) -> Option<u32>) -> Rank {
        let nearest = self.commits().filter_map(|commit| Some((position(commit)?, commit))).min();
        let of_same_name = self.repositories.iter().find(|(name, _)| name == repository);
        match (nearest, of_same_name, self.repositories.as_slice()) {
            (Some((0, commit)), ..) => Rank::new(ArtifactRelation::Head, 0, Some(commit.to_owned())),
            (Some((position, commit)), ..) => {
                Rank::new(ArtifactRelation::Ancestor, position, Some(commit.to_owned()))
            }
            (None, Some((_, commit)), _) => Rank::new(ArtifactRelation::Repository, 0, commit.clone()),
            (None, None, [(_, commit)]) => Rank::new(ArtifactRelation::Other, 0, commit.clone()),
            (None, None, _) => Rank::new(ArtifactRelation::Other, 0, None),
        }
    }
}

/// Relation of an artifact to HEAD; the nearest first.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rank {
    relation: ArtifactRelation,
    /// Position of the commit in the history of HEAD.
    position: u32,
    commit: Option<String>,
}

impl Rank {
    fn new(relation: ArtifactRelation, position: u32, commit: Option<String>) -> Self {
        Self { relation, position, commit }
    }
}

/// A candidate whose relation to HEAD is known.
struct RankedArtifact {
    path: PathBuf,
    file: String,
    is_dirty: bool,
    rank: Rank,
}

impl RankedArtifact {
    fn used(self, vectors: u64) -> UsedArtifact {
        let Rank { relation, commit, .. } = self.rank;
        UsedArtifact { file: self.file, commit, dirty: self.is_dirty, relation, vectors }
    }
}

/// Sorts the candidates: HEAD first, then its ancestors from the newest on, then files of the same repository, then others.
async fn rank(
    run: &RunContext<'_>,
    found: Option<&FoundRepository>,
    repository: &str,
    candidates: Vec<Candidate>,
) -> Result<Vec<RankedArtifact>, Fault> {
    let head = found.and_then(FoundRepository::head).map(|head| head.commit.clone());
    let mut commits: Vec<String> =
        candidates.iter().flat_map(Candidate::commits).map(str::to_owned).collect();
    commits.sort();
    commits.dedup();
    commits.retain(|commit| Some(commit) != head.as_ref());
    let mut positions = positions(run, found, commits).await?;
    positions.extend(head.map(|head| (head, 0)));
    Ok(sort_by_rank(repository, candidates, |commit: &str| positions.get(commit).copied()))
}

fn sort_by_rank(
    repository: &str,
    candidates: Vec<Candidate>,
    position: impl Fn(&str) -> Option<u32>,
) -> Vec<RankedArtifact> {
    let mut ranked: Vec<(Rank, Candidate)> =
        candidates.into_iter().map(|candidate| (candidate.rank(repository, &position), candidate)).collect();
    ranked.sort_by(|(a, first), (b, second)| {
        let nearness =
            |rank: &Rank, candidate: &Candidate| (rank.relation, rank.position, candidate.is_dirty);
        nearness(a, first)
            .cmp(&nearness(b, second))
            .then_with(|| second.built_at.cmp(&first.built_at))
            .then_with(|| first.file.cmp(&second.file))
    });
    let artifact =
        |(rank, Candidate { path, file, is_dirty, .. })| RankedArtifact { path, file, is_dirty, rank };
    ranked.into_iter().map(artifact).collect()
}

/// Returns the positions of commits in the history of HEAD; those that are not in it, or that cannot be found in time, are omitted.
async fn positions(
    run: &RunContext<'_>,
    found: Option<&FoundRepository>,
    commits: Vec<String>,
) -> Result<HashMap<String, u32>, Fault> {
    let location = found.and_then(|found| HistoryLocation::from_found(history::history_root(run), found));
    let Some(location) = location.filter(|_| run.config.indexing.history && !commits.is_empty()) else {
        return Ok(HashMap::new());
    };
    let (limits, parsing, must_stop) =
        (history::limits(&run.config.indexing), run.parsing.clone(), run.stop_check());
    blocking(move || {
        let until = RequestDeadline { deadline: Instant::now() + limits.time + GRACE, cancelled: &must_stop };
        let asked = commits.iter().map(String::as_str).collect();
        let positions = Historian::open(&location, &parsing, &until)
            .and_then(|mut historian| historian.positions(asked, &limits, &until))
            .inspect_err(|error| tracing::debug!(?error, "the commits of artifacts could not be looked up"))
            .unwrap_or_default();
        Ok(commits.into_iter().zip(positions).filter_map(|(commit, at)| Some((commit, at?))).collect())
    })
    .await
}

/// Opens an artifact after checking its checksum; the inner error is the reason why it cannot be used, as a sentence.
async fn open(run: &RunContext<'_>, path: &Path) -> Result<Result<Reader, String>, Fault> {
    let (path, limits) = (path.to_owned(), Limits::from(&run.config.portable));
    let (cancel, must_stop) = (run.cancel.clone(), run.stop_check());
    blocking(move || {
        let checked = open_in_place(&path).and_then(|_| check_checksum(&path, &must_stop));
        Ok(checked.and_then(|()| {
            Reader::open(&path, limits, LexicalBackend::Postings, &cancel).map_err(|fault| fault.message)
        }))
    })
    .await
}

/// Opens a regular file by a path without links.
fn open_in_place(path: &Path) -> Result<File, String> {
    let parts = path.parent().zip(path.file_name().and_then(OsStr::to_str));
    parts
        .and_then(|(folder, name)| Folder::open(folder).ok()?.open_file(name).ok())
        .ok_or_else(|| "It could not be read.".to_owned())
}

/// Compares a file with its checksum, if there is one beside it, as `sha256sum` writes it.
fn check_checksum(path: &Path, must_stop: &dyn Fn() -> bool) -> Result<(), String> {
    let beside = checksum_path(path);
    let Ok(metadata) = beside.symlink_metadata() else { return Ok(()) };
    let unreadable = || "Its checksum could not be read.".to_owned();
    let mut text = String::new();
    if !metadata.is_file() {
        return Err("Its checksum is not in a file.".to_owned());
    }
    let file = open_in_place(&beside).map_err(|_| unreadable())?;
    file.take(CHECKSUM_BYTES_MAX).read_to_string(&mut text).map_err(|_| unreadable())?;
    let expected = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let file = open_in_place(path)?;
    let (actual, _) =
        sha256::hash_reader(Stoppable { file, must_stop }, |_| ()).map_err(|_| "It could not be read.")?;
    if actual == expected { Ok(()) } else { Err("Its checksum is another one.".to_owned()) }
}

/// A file that can be read no further once `must_stop` is true.
struct Stoppable<'a> {
    file: File,
    must_stop: &'a dyn Fn() -> bool,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.must_stop)() { Err(io::Error::other("stopped")) } else { self.file.read(buffer) }
    }
}

/// Stores the vectors of pending texts that are in a file; returns their number.
async fn take_vectors(run: &RunContext<'_>, mut reader: Reader) -> Result<u64, Fault> {
    let (mut taken, mut after) = (0, Vec::new());
    loop {
        let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
        let hashes = store::vectors::pending_hashes(&mut tx, &after, PAGE_TEXTS).await?;
        tx.commit().await?;
        let Some(last) = hashes.last() else { return Ok(taken) };
        after.clone_from(last);
        let found: Vec<VectorOut>;
        (reader, found) = blocking(move || {
            // A damaged file counts as empty.
            let found = reader.vectors(&hashes).unwrap_or_default();
            Ok((reader, found))
        })
        .await?;
        if found.is_empty() {
            continue;
        }
        let (hashes, embeddings): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let mut tx = run.begin_bulk().await?;
        taken += store::vectors::insert(&mut tx, run.fence, &hashes, &embeddings).await?;
        tx.commit().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(file: &str, name: &str, commit: Option<&str>, is_dirty: bool, built_at: &str) -> Candidate {
        Candidate {
            path: PathBuf::from(file),
            file: file.to_owned(),
            repositories: vec![(name.to_owned(), commit.map(str::to_owned))],
            is_dirty,
            built_at: built_at.to_owned(),
        }
    }

    #[test]
    fn artifacts_near_head_come_first() {
        let positions = [("c3", 0), ("c2", 1), ("c1", 2)];
        let position = |commit: &str| positions.iter().find(|(known, _)| *known == commit).map(|(_, at)| *at);
        let candidates = vec![
            candidate("foreign", "toys", Some("f1"), false, "2026-09"),
            candidate("branch", "shop", Some("b1"), false, "2026-08"),
            candidate("old branch", "shop", None, false, "2026-01"),
            candidate("first", "elsewhere", Some("c1"), false, "2026-03"),
            candidate("second", "shop", Some("c2"), false, "2026-02"),
            candidate("changed head", "shop", Some("c3"), true, "2026-06"),
            candidate("head", "shop", Some("c3"), false, "2026-05"),
        ];
        let ranked = sort_by_rank("shop", candidates, position);
        let shown: Vec<(&str, ArtifactRelation)> =
            ranked.iter().map(|artifact| (artifact.file.as_str(), artifact.rank.relation)).collect();
        assert_eq!(
            shown,
            [
                ("head", ArtifactRelation::Head),
                ("changed head", ArtifactRelation::Head),
                ("second", ArtifactRelation::Ancestor),
                ("first", ArtifactRelation::Ancestor),
                ("branch", ArtifactRelation::Repository),
                ("old branch", ArtifactRelation::Repository),
                ("foreign", ArtifactRelation::Other),
            ]
        );
        assert_eq!(ranked[6].rank.commit.as_deref(), Some("f1"));
    }

    #[test]
    fn the_nearest_commit_of_a_whole_project_counts() {
        let mut project = candidate("index.sqlite", "toys", Some("f1"), false, "2026-01");
        project.repositories.push(("shop".to_owned(), Some("c2".to_owned())));
        let known = |commit: &str| (commit == "c2").then_some(4);
        let rank = project.rank("shop", known);
        assert_eq!(rank, Rank::new(ArtifactRelation::Ancestor, 4, Some("c2".to_owned())));
        let unknown = project.rank("shop", |_| None);
        assert_eq!(unknown, Rank::new(ArtifactRelation::Repository, 0, Some("c2".to_owned())));
        assert_eq!(project.rank("garden", |_| None), Rank::new(ArtifactRelation::Other, 0, None));
    }

    #[test]
    fn a_link_that_was_put_in_place_of_the_folder_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (folder, elsewhere) = (home.join("shop/ci-artifacts"), home.join("elsewhere"));
        std::fs::create_dir_all(&folder).unwrap();
        // The header of a portable file.
        let mut content = [0; 100];
        content[68..72].copy_from_slice(b"POCI");
        std::fs::write(folder.join("a.sqlite"), content).unwrap();
        let limits = Limits {
            file_bytes_max: 1 << 20,
            value_bytes_max: 1 << 20,
            check_bytes_max: 1 << 20,
            cache_bytes: 1 << 20,
        };
        let search = ArtifactSearch {
            folder: folder.clone(),
            head: None,
            limits,
            model_hash: Vec::new(),
            cancel: CancellationToken::new(),
        };
        let file = folder.join("a.sqlite");
        assert_eq!(search.portable_files(), [file.as_path()]);
        assert!(open_in_place(&file).is_ok());
        for replaced in [&folder, &home.join("shop")] {
            std::fs::rename(replaced, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, replaced).unwrap();
            assert!(is_portable(&file), "the link leads there");
            assert!(search.portable_files().is_empty());
            assert_eq!(open_in_place(&file).unwrap_err(), "It could not be read.");
            std::fs::remove_file(replaced).unwrap();
            std::fs::rename(&elsewhere, replaced).unwrap();
        }
    }

    #[test]
    fn a_file_must_have_its_checksum() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        let (file, beside) = (folder.join("a.sqlite"), folder.join("a.sqlite.sha256"));
        let check = || check_checksum(&file, &|| false);
        std::fs::write(&file, "content").unwrap();
        assert_eq!(check(), Ok(()), "without a checksum file");
        let line = format!("{}  a.sqlite\n", sha256::digest_hex(b"content"));
        std::fs::write(&beside, &line).unwrap();
        assert_eq!(check(), Ok(()));
        assert!(check_checksum(&file, &|| true).is_err(), "it was stopped");
        std::fs::write(&beside, line.to_uppercase()).unwrap();
        assert_eq!(check(), Ok(()));
        std::fs::write(&file, "contenT").unwrap();
        assert_eq!(check().unwrap_err(), "Its checksum is another one.");
        for malformed in [&b""[..], b"\n", b"no hash", &[0xff; 64]] {
            std::fs::write(&beside, malformed).unwrap();
            assert!(check().is_err(), "{malformed:?}");
        }
        std::fs::remove_file(&beside).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &beside).unwrap();
        assert_eq!(check().unwrap_err(), "Its checksum is not in a file.");
    }
}
