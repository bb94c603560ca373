//! Proposals of `_meta.next` where nothing is indexed: a directory that is plausibly a repository, or the project or repository that was
//! probably meant.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ARGUMENT_BYTES_MAX, AnsweredCall, is_missing_file};
use crate::app::blocking;
use crate::tools::Call;
use contract::{ErrorCode, Fault, Next, ProjectId, RepositoryAddress};
use engine::search::is_manifest;
use languages::VENDORED_FOLDERS;
use tenancy::{AllowedRoots, RootKind};

/// Names with at least this similarity, from 0 to 1, are proposed: one error in four letters.
const SIMILARITY_MIN: f64 = 0.7;
/// Maximum number of entries of a folder, and of folders in a directory, that are looked at.
const ENTRIES_MAX: usize = 500;
const FOLDERS_MAX: usize = 40;

impl AnsweredCall {
    /// Finds out what to propose after a call that met nothing indexed.
    pub(in crate::tools) async fn look_around(&mut self, call: &Call, outcome: Result<&Value, &Fault>) {
        match outcome {
            Err(fault) if fault.code == ErrorCode::NoIndex && !is_missing_file(fault) => {
                self.meant = match self.near_project(call).await {
                    Some(near) => Some(near),
                    None => self.near_repository(fault),
                };
            }
            Ok(_) if matches!(self.tool, "index_status" | "workspace_status") => {}
            _ => return,
        }
        self.indexable = self.find_indexable(call).await;
    }

    /// The path or address of the repository for which an index run may be proposed.
    async fn find_indexable(&self, call: &Call) -> Option<String> {
        let is_local = self.caller.principal.is_local;
        let project = self.project.as_deref().or(self.caller.project.as_deref());
        let project = project.map_or_else(|| Ok(ProjectId::default_workspace()), ProjectId::parse).ok()?;
        let allowed = AllowedRoots::for_project(&call.app.config.indexing, &project);
        let candidates: Vec<PathBuf> = match self.repository.as_deref() {
            Some(named) if matches!(RepositoryAddress::parse(named), Some(Ok(_))) => {
                return Some(named.to_owned());
            }
            // Callers on other machines must not learn whether it exists on this one.
            Some(named) if named.starts_with('/') && !is_local => return Some(named.to_owned()),
            Some(named) if named.starts_with('/') => vec![named.into()],
            Some(_) => return None,
            None => {
                let directory = self.caller.directory.clone().filter(|_| is_local)?;
                let top = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
                let top = top.map(Path::to_owned);
                [Some(directory), top].into_iter().flatten().collect()
            }
        };
        let find = move || Ok(candidates.into_iter().find_map(|path| plausible_root(&path, &allowed)));
        let found: Option<PathBuf> = blocking(find).await.ok()?;
        Some(found?.to_str()?.to_owned())
    }

    /// The same call in the project that was probably meant, if that of the call does not exist: one with a similar name, else one
    /// that has the repository.
    async fn near_project(&self, call: &Call) -> Option<Next> {
        let asked = self.project.as_deref().or(self.caller.project.as_deref());
        if call.project_if_any(asked).await.ok()?.is_some() {
            return None;
        }
        let near = match asked {
            Some(asked) => self.similar_project(call, asked).await,
            None => None,
        };
        match near {
            Some(near) => Some(near),
            None => self.where_indexed(call).await,
        }
    }

    /// The same call in the project with the most similar name.
    async fn similar_project(&self, call: &Call, asked: &str) -> Option<Next> {
        let mut tx = call.app.store().await.ok()?.control_read().await.ok()?;
        let known = store::projects::list(&mut tx).await.ok()?;
        tx.commit().await.ok()?;
        let known = known.into_iter().filter(|known| self.caller.principal.may_use(&known.id));
        let ids: Vec<String> = known.filter_map(|known| known.id.public().map(str::to_owned)).collect();
        self.with_argument("project_id", nearest(asked, ids.iter().map(String::as_str))?)
    }

    /// The same call about the repository of the project that was probably meant.
    fn near_repository(&self, fault: &Fault) -> Option<Next> {
        let asked = self.repository.as_deref().filter(|named| !named.starts_with('/'))?;
        let known = fault.details.as_ref()?["repositories"].as_array()?;
        let near = nearest(asked, known.iter().filter_map(Value::as_str))?;
        let name =
            ["repoPath", "repo_path", "repo"].into_iter().find(|name| self.arguments.contains_key(*name))?;
        self.with_argument(name, near)
    }

    /// The same call with another argument, unless it is long.
    pub(super) fn with_argument(&self, name: &str, value: &str) -> Option<Next> {
        let mut arguments = self.arguments.clone();
        arguments.insert(name.to_owned(), Value::from(value));
        let is_short = Value::Object(arguments.clone()).to_string().len() <= ARGUMENT_BYTES_MAX;
        is_short.then(|| Next { tool: self.tool.to_owned(), arguments })
    }
}

/// The most similar of some names, if it is similar enough.
fn nearest<'n>(asked: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let asked = asked.to_lowercase();
    let similarity = |name: &str| strsim::normalized_damerau_levenshtein(&asked, &name.to_lowercase());
    let scored = known.map(|name| (similarity(name), name)).filter(|(score, _)| *score >= SIMILARITY_MIN);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// The canonical path of a file or directory that may be indexed and looks like a repository: an archive, or a directory with `.git`, a
/// manifest or source code, which is not the home of the user or a directory above it.
fn plausible_root(path: &Path, allowed: &AllowedRoots) -> Option<PathBuf> {
    let root = allowed.check(path).ok()?;
    let found = root.path().to_owned();
    if *root.kind() == RootKind::Archive {
        return Some(found);
    }
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_too_much = found.parent().is_none() || home.is_some_and(|home| home.starts_with(&found));
    (!is_too_much && is_repository(&found)).then_some(found)
}

fn is_repository(directory: &Path) -> bool {
    if directory.join(".git").symlink_metadata().is_ok() {
        return true;
    }
    let (has_code, folders) = look_into(directory);
    has_code || folders.iter().any(|folder| look_into(folder).0)
}

/// Looks for a manifest or a file of code in a directory, and lists its folders.
fn look_into(directory: &Path) -> (bool, Vec<PathBuf>) {
    let mut folders = Vec::new();
    let Ok(entries) = directory.read_dir() else { return (false, folders) };
    for entry in entries.take(ENTRIES_MAX).flatten() {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
        let is_code =
            || is_manifest(&name) || languages::detect(&name, b"").is_some_and(|known| known.is_code());
        if kind.is_file() && !name.starts_with('.') && is_code() {
            return (true, folders);
        }
        let is_own = !name.starts_with('.') && !VENDORED_FOLDERS.contains(&name.as_str());
        if kind.is_dir() && is_own && folders.len() < FOLDERS_MAX {
            folders.push(entry.path());
        }
    }
    (false, folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_repository_is_proposed() {
        let outer = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = outer.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in [
            "git/.git/HEAD", "manifest/package.json", "code/a.py", "nested/src/main.rs", "photos/a.jpg",
            "notes/todo.txt", "deps/node_modules/x.js", "shell/.bashrc", "deep/a/b/c.py",
        ] {
            write(path);
        }
        std::fs::create_dir(outer.path().join("empty")).unwrap();
        let is_plausible =
            |name: &str| plausible_root(&outer.path().join(name), &AllowedRoots::any()).is_some();
        for name in ["git", "manifest", "code", "nested"] {
            assert!(is_plausible(name), "{name}");
        }
        for name in ["photos", "notes", "deps", "shell", "deep", "empty", "missing"] {
            assert!(!is_plausible(name), "{name}");
        }
        let home = std::env::home_dir().unwrap();
        for path in [Path::new("/"), &home, home.parent().unwrap()] {
            assert_eq!(plausible_root(path, &AllowedRoots::any()), None, "{}", path.display());
        }
        let elsewhere = AllowedRoots::within(vec![outer.path().canonicalize().unwrap().join("git")]);
        assert_eq!(plausible_root(&outer.path().join("code"), &elsewhere), None);
    }

    #[test]
    fn a_misspelt_name_has_a_near_one() {
        let known = ["client-a", "shop", "bakery"];
        assert_eq!(nearest("clint-a", known.into_iter()), Some("client-a"));
        assert_eq!(nearest("Shpo", known.into_iter()), Some("shop"));
        assert_eq!(nearest("zebra", known.into_iter()), None);
    }
}
