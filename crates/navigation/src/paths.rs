//! The paths of a repository's files, in which modules are looked up.

use std::collections::HashMap;

use super::family::Family;
use super::source_file::SourceFile;
use super::value::Module;

/// Maximum number of files of one name that are looked at when a path is searched by its end.
const SAME_NAME_MAX: usize = 256;

/// The files, with an index of their paths. Every look-up is for one family of languages.
#[derive(Debug)]
pub(crate) struct Paths {
    files: Vec<SourceFile>,
    families: Vec<Family>,
    /// Files in the order of their paths.
    sorted: Vec<u32>,
    /// Files by their name without folder, each list in the order of the paths.
    by_name: HashMap<String, Vec<u32>>,
}

impl Paths {
    /// The files, and the family of each.
    pub(crate) fn new(files: Vec<SourceFile>, families: Vec<Family>) -> Self {
        let mut sorted: Vec<u32> = (0..files.len() as u32).collect();
        sorted.sort_unstable_by_key(|file| &files[*file as usize].path);
        let mut by_name: HashMap<String, Vec<u32>> = HashMap::new();
        for file in &sorted {
            let same = by_name.entry(name(&files[*file as usize].path).to_owned()).or_default();
            if same.len() < SAME_NAME_MAX {
                same.push(*file);
            }
        }
        Self { files, families, sorted, by_name }
    }

    pub(crate) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the family of a file.
    pub(crate) fn family(&self, file: u32) -> Family {
        self.families.get(file as usize).copied().unwrap_or(Family::Other)
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self, file: u32) -> &str {
        self.files.get(file as usize).map_or("", |file| &file.path)
    }

    /// Returns the file of this path.
    pub(crate) fn file(&self, family: Family, path: &str) -> Option<u32> {
        let found = self.sorted.binary_search_by_key(&path, |file| self.path(*file)).ok()?;
        Some(self.sorted[found]).filter(|file| self.family(*file) == family)
    }

    /// Returns the files below a folder, in the order of their paths; all files for an empty path.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = u32> {
        let from = self.sorted.partition_point(|file| self.path(*file) < folder);
        let inside = move |path: &str| is_below(path, folder);
        // A file such as `a-b` is sorted between `a` and `a/b`.
        let candidates = self.sorted[from..].iter().copied();
        let candidates = candidates.take_while(move |file| self.path(*file).starts_with(folder));
        candidates.filter(move |file| inside(self.path(*file)))
    }

    /// Returns the folder of this path, if it has files of the family at any depth.
    pub(crate) fn folder(&self, family: Family, path: &str) -> Option<Module> {
        let mut inside = self.below(path).take(SAME_NAME_MAX);
        let file = inside.find(|file| self.family(*file) == family)?;
        Some(Module::Folder { file, bytes: path.len() as u32 })
    }

    /// Returns the path of a folder that a [`Module::Folder`] names.
    pub(crate) fn folder_path(&self, file: u32, bytes: u32) -> &str {
        self.path(file).get(..bytes as usize).unwrap_or_default()
    }

    /// Returns the files of a family whose path is `end` or ends with `/` and `end`, at most a few hundred.
    pub(crate) fn ending_with(&self, family: Family, end: &str) -> impl Iterator<Item = u32> {
        let same = self.by_name.get(name(end)).map_or(&[][..], Vec::as_slice);
        let ends = move |path: &str| {
            path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        same.iter().copied().filter(move |file| self.family(*file) == family && ends(self.path(*file)))
    }

    /// Returns those of some files that share most folders with the file `from`.
    pub(crate) fn nearest(&self, from: u32, files: impl Iterator<Item = u32>) -> Vec<u32> {
        let own: Vec<&str> = folder(self.path(from)).split('/').collect();
        let shared = |file: u32| {
            let other = folder(self.path(file)).split('/');
            own.iter().zip(other).take_while(|(own, other)| **own == *other).count()
        };
        let rated: Vec<(usize, u32)> = files.map(|file| (shared(file), file)).collect();
        let most = rated.iter().map(|(shared, _)| *shared).max();
        rated.into_iter().filter(|(shared, _)| Some(*shared) == most).map(|(_, file)| file).collect()
    }
}

/// Checks whether a path lies inside a folder.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the folder of a path, without `/` at its end; empty for the root.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last name of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns a path below a folder.
pub(crate) fn join(folder: &str, path: &str) -> String {
    match (folder.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{path}"),
    }
}

/// Returns a path relative to a folder, with `.` and `..` resolved. `None` if it leaves the repository.
pub(crate) fn relative(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
