//! Finds packages that are imported by their names alone because their own files do so, and those for which that may have changed.

use std::collections::{BTreeMap, HashSet};

use super::{folder_hash, package_hash};
use crate::name_hash::{NameHash, hash, names_in};
use crate::paths::{join, name};
use crate::rules::python::{ENDS, clues};
use crate::source_file::SourceFile;

/// The modules that files of a package import from it by its name.
#[derive(Default)]
struct Imported {
    modules: HashSet<NameHash>,
    /// Those that exist and are imported by files that did not change.
    certain: HashSet<NameHash>,
}

/// The folders of packages.
pub(super) struct Packages<'f>(BTreeMap<&'f str, Imported>);

impl<'f> Packages<'f> {
    pub(super) fn new(
        files: &'f [SourceFile],
        unresolved: &HashSet<u32>,
        folders: &HashSet<NameHash>,
    ) -> Self {
        let paths: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let mut packages: BTreeMap<&str, Imported> = BTreeMap::new();
        for (number, file) in (0..).zip(files) {
            for clue in clues(&file.path, &file.interface) {
                let inner = join(clue.package, clue.inner);
                let exists = folders.contains(&folder_hash(&inner))
                    || ENDS.iter().any(|end| paths.contains(format!("{inner}{end}").as_str()));
                let imported = packages.entry(clue.package).or_default();
                imported.modules.insert(hash(clue.inner));
                if exists && !unresolved.contains(&number) {
                    imported.certain.insert(hash(clue.inner));
                }
            }
        }
        Self(packages)
    }

    pub(super) fn hashes(&self) -> impl Iterator<Item = NameHash> {
        self.0.keys().map(|folder| package_hash(folder))
    }

    /// Adds the names of packages whose way of being imported is no longer confirmed by an unchanged file. `folders` are the changed hashes
    /// of folders and packages.
    pub(super) fn pass_on(&self, folders: &HashSet<NameHash>, changed: &mut HashSet<NameHash>) {
        for (folder, imported) in &self.0 {
            let is_touched =
                folders.contains(&package_hash(folder)) || !imported.modules.is_disjoint(changed);
            if is_touched && imported.certain.is_subset(changed) {
                changed.extend(names_in(name(folder)));
            }
        }
    }
}
