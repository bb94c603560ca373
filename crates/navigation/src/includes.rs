//! Which definitions of its package a file sees, in languages whose files include or require each other.

use std::collections::HashSet;
use std::rc::Rc;

use languages::symbols::SymbolKind;

use super::reference::Target;
use super::rules::Sight;
use super::session::Session;

/// Most files that are followed.
const FILES_MAX: usize = 600;

impl Session<'_> {
    /// Those of the symbols of one name that a file sees. Of definitions in several files that nothing tells apart, none.
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
            return symbols;
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
        // What is declared may be defined in any file that is compiled by itself, but not in a header that is not included.
        let is_header = |target: &Target| is_header(self.repository.paths.path(target.file));
        symbols.into_iter().filter(|target| is_seen(&target) || !is_header(target)).collect()
    }

    /// The files that a file includes, directly or through others.
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

/// Whether a file is made to be included.
pub(crate) fn is_header(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(
        extension,
        "h" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp" | "tpp" | "inc" | "def" | "ixx" | "cppm" | "H"
    )
}
