//! Looks up names in imports of all names.

use languages::symbols::Import;

use super::index::Half;
use super::rules::Sight;
use super::session::Session;
use super::value::{Found, Module};

impl<'r> Session<'r> {
    /// Checks whether an import only decides which definitions of a package the file sees: that of a file in languages where all files
    /// belong to one package.
    fn is_only_seen(&self, file: u32, body: bool, import: u32) -> bool {
        let rules = self.rules(file);
        let of_package =
            |row: &Import, half: Half<'_>| half.arena.text(row.module).starts_with(rules.separator);
        rules.sight != Sight::All
            && self.import_row(file, body, import).is_none_or(|(row, half)| !of_package(row, half))
    }

    /// Finds a name in the first of several imports that bind it. `Unknown` if none does, but a foreign one may.
    pub(crate) fn find_in_stars(&mut self, file: u32, stars: &[(bool, u32)], name: &'r str) -> Vec<Found> {
        let mut unknown = false;
        for (body, import) in stars.iter().copied() {
            if self.is_only_seen(file, body, import) {
                continue;
            }
            let found = self.found_in_star(file, body, import, name);
            if found.iter().any(|one| !matches!(one, Found::Unknown)) {
                return found;
            }
            unknown |= !found.is_empty();
        }
        if unknown { vec![Found::Unknown] } else { Vec::new() }
    }

    /// Finds a name among those that an import of all names binds. `Unknown` if the module is foreign and may have it.
    fn found_in_star(&mut self, file: u32, body: bool, import: u32, name: &'r str) -> Vec<Found> {
        let Some((row, half)) = self.import_row(file, body, import) else { return Vec::new() };
        let located = self.locate(file, half.arena.text(row.module));
        let mut found = Vec::new();
        for one in located {
            let modules = self.follow(&one);
            for module in modules {
                let bound = match module {
                    Found::Module(Module::File(other)) => {
                        let half = self.repository.files().get(other as usize);
                        let rules = self.rules(other);
                        match half.is_some_and(|of| (rules.in_star)(&of.interface, name)) {
                            true => self.exported_name(other, name),
                            false => Vec::new(),
                        }
                    }
                    // If a package does not have the name, the next import may.
                    Found::Module(Module::Package(package)) => self.name_in_package(self.file, package, name),
                    Found::Module(module) => self.member_of_module(module, name),
                    Found::Symbol(target, _) => {
                        let values = self.value_of(target, None);
                        values.into_iter().flat_map(|value| self.member(value, name)).collect()
                    }
                    Found::Value(_) | Found::Unknown => vec![Found::Unknown],
                };
                found.extend(bound.into_iter().filter(|one| !matches!(one, Found::Unknown)));
            }
        }
        found
    }
}
