//! Finds the definitions of its package that a file sees, in languages whose files include or require each other.

use std::collections::HashSet;
use std::rc::Rc;

use languages::symbols::{Imported, SymbolKind};

use super::reference::Target;
use super::rules::Sight;
use super::session::Session;

/// Maximum number of packages that are included into every class.
const PACKAGES_MAX: usize = 16;
/// Maximum number of files that are followed.
const FILES_MAX: usize = 600;

impl Session<'_> {
    /// Returns the symbols of one name that a file sees. Of definitions in several files that cannot be distinguished, returns none.
    pub(crate) fn visible(&mut self, file: u32, symbols: Vec<Target>) -> Vec<Target> {
        match self.rules(file).sight {
            Sight::All => symbols,
            Sight::Included => self.visible_of_linked(file, symbols),
            Sight::Required => {
                let is_free = |target: &Target| {
                    self.symbol(*target)
                        .is_some_and(|(symbol, _)| symbol.kind == SymbolKind::Function && symbol.scope == 0)
                };
                if !symbols.iter().any(is_free) {
                    return symbols;
                }
                let required = self.included(file);
                let is_seen = |target: &Target| target.file == file || required.contains(&target.file);
                symbols.into_iter().filter(is_seen).collect()
            }
        }
    }

    fn visible_of_linked(&mut self, file: u32, symbols: Vec<Target>) -> Vec<Target> {
        let defined: HashSet<u32> = symbols
            .iter()
            .filter(|target| !self.is_declaration(**target))
            .map(|target| target.file)
            .collect();
        if defined.len() < 2 {
            // A macro is seen only where it is included; but a header may rely on what its includers include first, so it may see it.
            let is_macro = symbols.iter().all(|target| self.kind(*target) == Some(SymbolKind::Macro));
            if !is_macro || defined.contains(&file) || is_header(self.repository.paths.path(file)) {
                return symbols;
            }
            let included = self.included(file);
            return symbols.into_iter().filter(|target| included.contains(&target.file)).collect();
        }
        if defined.contains(&file) {
            return symbols.into_iter().filter(|target| target.file == file).collect();
        }
        let included = self.included(file);
        let is_seen = |target: &&Target| target.file == file || included.contains(&target.file);
        let seen: Vec<Target> = symbols.iter().filter(is_seen).copied().collect();
        let declares = seen.iter().any(|target| self.is_declaration(*target));
        if !declares {
            return seen;
        }
        // A declared symbol may be defined in any file that is compiled by itself, but not in a header that is not included.
        let is_header = |target: &Target| is_header(self.repository.paths.path(target.file));
        symbols.into_iter().filter(|target| is_seen(&target) || !is_header(target)).collect()
    }

    /// Returns the packages that a file, or a file that it requires, includes into every class: `include` outside of classes in Ruby.
    pub(crate) fn ambient(&mut self, file: u32) -> Rc<[u32]> {
        if let Some(known) = self.ambient.get(&file) {
            return Rc::clone(known);
        }
        let (rules, packages) = (self.rules(file), self.repository.packages());
        let mut files: Vec<u32> = self.included(file).iter().copied().collect();
        files.sort_unstable();
        files.insert(0, file);
        let mut found = Vec::new();
        for file in files {
            let Some((half, _)) = self.repository.interface(file) else { continue };
            for import in half.imports.iter().filter(|import| import.what == Imported::All) {
                self.step(1);
                let path = half.arena.text(import.module).strip_prefix(rules.separator);
                let package = path.and_then(|path| packages.find(rules.family, path));
                found
                    .extend(package.filter(|package| found.len() < PACKAGES_MAX && !found.contains(package)));
            }
        }
        let found: Rc<[u32]> = Rc::from(found);
        self.ambient.insert(file, Rc::clone(&found));
        found
    }

    /// Returns the files that a file includes, directly or through others.
    fn included(&mut self, file: u32) -> Rc<HashSet<u32>> {
        if let Some(known) = self.included.get(&file) {
            return Rc::clone(known);
        }
        let (mut included, mut open) = (HashSet::new(), vec![file]);
        while let Some(next) = open.pop() {
            for other in self.repository.includes(next) {
                self.step(1);
                if included.len() < FILES_MAX && included.insert(*other) {
                    open.push(*other);
                }
            }
        }
        let included = Rc::new(included);
        self.included.insert(file, Rc::clone(&included));
        included
    }
}

/// Checks whether a file is made to be included.
pub(crate) fn is_header(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(
        extension,
        "h" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp" | "tpp" | "inc" | "def" | "ixx" | "cppm" | "H"
    )
}
