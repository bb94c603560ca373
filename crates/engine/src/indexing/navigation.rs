//! The stage that resolves the uses of names in a repository to definitions.
//!
//! Only files that changed or mention a name whose meaning changed are resolved. The remaining work is recorded with the rows that cause
//! it, so that the next run completes the work of a killed one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use navigation::incremental::{self, RESOLVER_VERSION, affected};
use navigation::{Repository, SourceFile};

use super::context::RunContext;
use super::report::NavigationReport;
use super::scip_uses::GivenPlaces;
use super::uses::{Conversion, FileUses, GivenDocuments, defined_names, resolve_files};
use contract::{ErrorCode, Fault};
use platform::failpoints;
use store::symbols::{InterfaceRow, PlacedSymbol, Unresolved};
use store::{Access, ProjectTx, navigation as stored, scip, symbols, uses};

/// Interfaces that are read in one statement.
const PAGE_FILES: i64 = 500;
/// Files that are resolved and written together: little enough that their bodies fit in memory.
const BATCH_FILES: usize = 64;

/// Resolves the unresolved uses in a repository. Returns notes for the report.
///
/// # Errors
/// `CANCELLED`; `ILLEGAL_STATE` if the fence is lost; storage faults. Committed files are kept.
pub(super) async fn resolve_uses(run: &RunContext<'_>, repository_id: i64) -> Result<Resolved, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let due = symbols::unresolved(&mut tx, repository_id).await?;
    let stored = symbols::interface_bytes(&mut tx, repository_id).await?;
    tx.commit().await?;
    let mut done = Resolved::default();
    let is_outdated = due.version != RESOLVER_VERSION;
    if !is_outdated && due.files.is_empty() && due.names.is_empty() {
        return Ok(done);
    }
    let mut families: BTreeMap<&str, i64> = BTreeMap::new();
    for (language, bytes) in &stored {
        *families.entry(incremental::family(language)).or_default() += bytes;
    }
    for (family, bytes) in families {
        let work = FamilyWork::new(family, &due, is_outdated);
        if work.is_nothing() {
            continue;
        }
        if bytes.unsigned_abs() > run.config.indexing.interfaces_bytes_max {
            work.give_up(run).await?;
            done.notes.push(format!(
                "The uses of names in {family} were not resolved: what its files show each other takes {bytes} bytes, more than indexing.interfaces_bytes_max."
            ));
            continue;
        }
        done.files += work.run(run, repository_id).await?;
    }
    let mut tx = run.begin_batch().await?;
    symbols::set_resolved(&mut tx, run.fence, repository_id, RESOLVER_VERSION).await?;
    tx.commit().await?;
    failpoints::reach("index.navigation_resolved");
    Ok(done)
}

/// Result of the stage.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// Number of files whose uses were resolved.
    pub(super) files: u64,
    /// Notes for the report.
    pub(super) notes: Vec<String>,
}

/// Reports the known uses in a repository after a run; `None` if none of its files has symbols.
pub(super) async fn report(
    run: &RunContext<'_>,
    repository_id: i64,
    resolved: &Resolved,
) -> Result<Option<NavigationReport>, Fault> {
    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
    let coverage = stored::coverage(&mut tx, &[repository_id]).await?;
    tx.commit().await?;
    if coverage.is_empty() {
        return Ok(None);
    }
    let sum = |number: fn(&stored::Coverage) -> i64| coverage.iter().map(number).sum::<i64>().unsigned_abs();
    Ok(Some(NavigationReport {
        files: sum(|one| one.files),
        files_too_large: sum(|one| one.too_large),
        files_truncated: sum(|one| one.truncated),
        files_resolved: resolved.files,
        uses_scip: sum(|one| one.scip_uses),
        uses_resolved: sum(|one| one.resolved_uses),
        uses_by_name: sum(|one| one.name_uses),
    }))
}

/// The work in the files of one family of languages.
struct FamilyWork<'w> {
    languages: Vec<&'w str>,
    /// Files whose own uses are not resolved.
    unresolved: HashSet<i64>,
    /// Names that changed their meaning.
    names: Vec<u32>,
    /// `true` if all files have to be resolved.
    all: bool,
}

impl<'w> FamilyWork<'w> {
    fn new(family: &'w str, due: &'w Unresolved, all: bool) -> Self {
        let of_family = |language: &str| incremental::family(language) == family;
        let files = due.files.iter().filter(|(language, _)| of_family(language));
        let names = due.names.iter().filter(|(language, _)| of_family(language));
        Self {
            languages: incremental::family_languages(family),
            unresolved: files.map(|(_, file)| *file).collect(),
            names: names.map(|(_, name)| name.cast_unsigned()).collect(),
            all,
        }
    }

    fn is_nothing(&self) -> bool {
        !self.all && self.unresolved.is_empty() && self.names.is_empty()
    }

    /// Records that the files have no uses.
    async fn give_up(&self, run: &RunContext<'_>) -> Result<(), Fault> {
        let files: Vec<(i64, Vec<store::UseWrite>)> =
            self.unresolved.iter().map(|file| (*file, Vec::new())).collect();
        for files in files.chunks(BATCH_FILES) {
            let mut tx = run.begin_batch().await?;
            uses::replace(&mut tx, run.fence, files).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Resolves the files and returns their number.
    async fn run(&self, run: &RunContext<'_>, repository_id: i64) -> Result<u64, Fault> {
        let (ids, files) = self.load(run, repository_id).await?;
        let numbers: HashMap<i64, u32> = ids.iter().copied().zip(0..).collect();
        let wanted = self.wanted(run, repository_id, &numbers, &files).await?;
        let repository = Repository::new(files);
        let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
        let unchanged = scip::known_files(&mut tx, repository_id).await?;
        tx.commit().await?;
        let unchanged = unchanged.iter().filter_map(|id| numbers.get(id).copied()).collect();
        let mut resolving = Resolving {
            run,
            repository_id,
            names: Arc::new(defined_names(&repository)),
            places: Arc::new(GivenPlaces::new(&repository, unchanged)),
            repository: Arc::new(repository),
            ids,
            placed: HashMap::new(),
        };
        for batch in wanted.chunks(BATCH_FILES) {
            resolving.resolve(batch, &numbers).await?;
        }
        Ok(wanted.len() as u64)
    }

    /// Reads the interfaces of all files, with the ids of the files.
    async fn load(
        &self,
        run: &RunContext<'_>,
        repository_id: i64,
    ) -> Result<(Vec<i64>, Vec<SourceFile>), Fault> {
        let (mut ids, mut files) = (Vec::new(), Vec::<SourceFile>::new());
        loop {
            let after = files.last().map_or("", |file| file.path.as_str());
            let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
            let page =
                symbols::interfaces(&mut tx, repository_id, &self.languages, after, PAGE_FILES).await?;
            tx.commit().await?;
            if page.is_empty() {
                return Ok((ids, files));
            }
            check_cancelled(run)?;
            ids.extend(page.iter().map(|row| row.file_id));
            let interfaces = run.interfaces.clone();
            let read = move |row: InterfaceRow| {
                let interface = interfaces.read(&row.interface);
                SourceFile { path: row.path, language: row.language, interface }
            };
            files.extend(blocking(move || page.into_iter().map(read).collect::<Vec<_>>()).await?);
        }
    }

    /// Returns the ids of the files to resolve, in the order of their paths.
    async fn wanted(
        &self,
        run: &RunContext<'_>,
        repository_id: i64,
        numbers: &HashMap<i64, u32>,
        files: &[SourceFile],
    ) -> Result<Vec<i64>, Fault> {
        let mut wanted: HashSet<i64> = self.unresolved.iter().copied().collect();
        let mut all = self.all;
        if !all && !self.names.is_empty() {
            let unresolved = self.unresolved.iter().filter_map(|id| numbers.get(id).copied()).collect();
            match affected(files, &unresolved, self.names.iter().copied()) {
                None => all = true,
                Some(names) => {
                    let mut names: Vec<i32> = names.into_iter().map(u32::cast_signed).collect();
                    names.sort_unstable();
                    let mut tx = ProjectTx::begin(run.store, run.project, Access::Write).await?;
                    wanted.extend(symbols::mentioning(&mut tx, repository_id, &names).await?);
                    tx.commit().await?;
                }
            }
        }
        let mut wanted: Vec<(u32, i64)> = match all {
            true => numbers.iter().map(|(id, number)| (*number, *id)).collect(),
            false => wanted.iter().filter_map(|id| Some((*numbers.get(id)?, *id))).collect(),
        };
        wanted.sort_unstable();
        Ok(wanted.into_iter().map(|(_, id)| id).collect())
    }
}

/// The resolving of files of one family.
struct Resolving<'r> {
    run: &'r RunContext<'r>,
    repository_id: i64,
    repository: Arc<Repository>,
    /// Ids of the files, by their numbers.
    ids: Vec<i64>,
    /// Names that a use by name alone may mean.
    names: Arc<HashSet<String>>,
    /// Places that compilers' indexers refer to.
    places: Arc<GivenPlaces>,
    /// The symbols of the files that were needed so far.
    placed: HashMap<i64, Vec<PlacedSymbol>>,
}

impl Resolving<'_> {
    /// Resolves some files and writes their uses in one transaction.
    async fn resolve(&mut self, batch: &[i64], numbers: &HashMap<i64, u32>) -> Result<(), Fault> {
        let mut tx = ProjectTx::begin(self.run.store, self.run.project, Access::Write).await?;
        let bodies = symbols::bodies(&mut tx, batch).await?;
        let given = scip::documents(&mut tx, batch).await?;
        tx.commit().await?;
        let given: GivenDocuments =
            given.into_iter().filter_map(|(id, document)| Some((*numbers.get(&id)?, document))).collect();
        let bodies: Vec<(u32, Vec<u8>)> =
            bodies.into_iter().filter_map(|(id, body)| Some((*numbers.get(&id)?, body))).collect();
        let (repository, places) = (Arc::clone(&self.repository), Arc::clone(&self.places));
        let must_stop = self.run.stop_check();
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let resolved =
            blocking(move || resolve_files(&repository, bodies, (&given, &places), threads, &must_stop))
                .await?;
        check_cancelled(self.run)?;
        self.write(resolved).await?;
        self.run.progress.touch();
        failpoints::reach("index.navigation_batch");
        Ok(())
    }

    async fn write(&mut self, resolved: Vec<FileUses>) -> Result<(), Fault> {
        let files: HashSet<u32> = resolved.iter().flat_map(FileUses::files).collect();
        let ids = files.into_iter().filter_map(|file| self.ids.get(file as usize).copied());
        let mut missing: Vec<i64> = ids.filter(|id| !self.placed.contains_key(id)).collect();
        missing.sort_unstable();
        let mut tx = self.run.begin_batch().await?;
        if !missing.is_empty() {
            let placed = symbols::placed(&mut tx, &missing).await?;
            self.placed.extend(missing.into_iter().map(|id| (id, Vec::new())));
            self.placed.extend(placed);
        }
        let conversion = Conversion {
            repository_id: self.repository_id,
            repository: &self.repository,
            ids: &self.ids,
            placed: &self.placed,
            names: &self.names,
        };
        let mut rows: Vec<_> = resolved.iter().filter_map(|file| conversion.rows(file)).collect();
        rows.sort_by_key(|(id, _)| *id);
        uses::replace(&mut tx, self.run.fence, &rows).await?;
        tx.commit().await
    }
}

fn check_cancelled(run: &RunContext<'_>) -> Result<(), Fault> {
    run.progress.touch();
    if run.cancel.is_cancelled() {
        return Err(Fault::new(
            ErrorCode::Cancelled,
            "The index run was cancelled; committed changes are kept.",
        ));
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let working = platform::task::spawn_blocking(work);
    working.await.map_err(|error| Fault::internal("Resolving names failed unexpectedly.", error))
}
