//! The differences between languages when names are resolved: one file for each family of languages.
//!
//! To add a family: write `rules/<family>.rs` with one `Rules` constant, list it in [`ALL`] below and give it a variant of
//! [`Family`]. Begin with `..DEFAULT`, which says: a file sees only its own names, no import leads anywhere, and every name that is
//! not found may be one that the file cannot see. Then set, in this order:
//!
//! 1. [`modules`](Rules::modules): which files, folders or packages the module path of an import names. Without it imports lead
//!    nowhere. What is left of the path after the module (a type, an inner module) is returned as `rest`, and looked up as members.
//!    An empty list means that the module is outside of the repository: names from it are then known to be foreign, and give no
//!    reference at all.
//! 2. [`package`](Rules::package): the package whose names all its files see without import. A folder's path will do (Go).
//! 3. The flags, whose meaning is written at each.
//! 4. [`builtin_members`](Rules::builtin_members): names of members of the language's own types (`get`, `push`), which are never taken for
//!    extensions of values with unknown types.
//!
//! The look-ups of [`Paths`](super::paths::Paths) (`file`, `folder`, `ending_with`, `nearest`) and
//! [`Packages`](super::packages::Packages) serve these functions. Add cases to `cases/<language>.cases`.

mod c;
mod csharp;
mod ecmascript;
mod go;
mod jvm;
mod php;
pub(crate) mod python;
mod ruby;
mod rust;
mod swift;

pub(crate) use ecmascript::Packages as EcmaScriptPackages;
pub(crate) use go::Folders as GoFolders;
pub(crate) use python::Packages as PythonPackages;
pub(crate) use rust::Crates as RustCrates;

pub(crate) use super::family::Family;

use languages::symbols::{Interface, Symbol};

use super::repository::Repository;
use super::source_file::SourceFile;
use super::value::Module;

/// A module that an import names, and the names inside of it that the path goes on to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<'p> {
    pub(crate) module: Module,
    pub(crate) rest: Vec<&'p str>,
}

impl Located<'_> {
    /// Creates the result for a module that the whole path names.
    pub(crate) fn whole(module: Module) -> Self {
        Self { module, rest: Vec::new() }
    }
}

/// The interpretation of bare names that are found nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FreeNames {
    /// They are builtins, because every other name has to be imported.
    Builtin,
    /// They may be anything.
    Unknown,
}

/// The way in which several definitions of one type belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merging {
    /// They do not.
    Apart,
    /// Those of one scope are one type: interfaces and classes in TypeScript.
    InScope,
    /// Those of one package or namespace are one type: C#, Ruby; a declaration and a definition in C++.
    InPackage,
}

/// The definitions of a package that a file sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All.
    All,
    /// Of several of one name, those that it includes or declares, because all are linked: C.
    Included,
    /// Of functions outside of types, those in files that it requires: Ruby.
    Required,
}

/// The facts of a family of languages.
pub(crate) struct Rules {
    pub(crate) family: Family,
    /// Ids of its languages.
    pub(crate) languages: &'static [&'static str],
    /// The modules that a path in an import of the file `from` names.
    pub(crate) modules: for<'p> fn(&Repository, from: u32, path: &'p str) -> Vec<Located<'p>>,
    /// Checks whether a path that leads to no module may still name one of the repository, so that names from it are not known to be
    /// foreign.
    pub(crate) may_be_own: fn(&str) -> bool,
    /// A module inside a module: a file of a folder.
    pub(crate) submodule: fn(&Repository, Module, &str) -> Option<Module>,
    /// The package of a file, whose names all its files see; `None` if files see each other only by imports.
    pub(crate) package: fn(&SourceFile) -> Option<String>,
    /// Checks whether the other files of its package see a symbol.
    pub(crate) in_package: fn(&SourceFile, &Symbol) -> bool,
    /// Separates the parts of a package's name.
    pub(crate) separator: &'static str,
    /// `true` if the packages around a package are seen, too: `A` inside of `A.B`.
    pub(crate) outer_packages: bool,
    /// `true` if the name of a namespace in a file is complete, even in a file that belongs to another namespace: C#.
    pub(crate) namespaces_are_whole: bool,
    /// `true` if names that a package does not have are looked up in the package without a name: functions in PHP.
    pub(crate) root_package: bool,
    /// `true` if types are packages, too, so that their constants can be defined elsewhere: Ruby.
    pub(crate) types_are_packages: bool,
    /// `true` if members of the class and members of its instances are separate, and only those of the innermost class are seen by their
    /// bare name: Ruby.
    pub(crate) sides: bool,
    /// The definitions of a package that a file sees.
    pub(crate) sight: Sight,
    /// `true` if members of a type are seen by their bare name from inside its methods.
    pub(crate) members_visible: bool,
    /// `true` if they are at least seen in the body of the type itself, outside of its methods.
    pub(crate) members_visible_in_body: bool,
    /// Languages of the family in which functions have names of their own, apart from those of variables.
    pub(crate) functions_apart: &'static [&'static str],
    /// `true` if only types are found where a type is expected, whatever else has the name.
    pub(crate) types_apart: bool,
    /// `true` if a member that a value is not known to have may be an extension that the file sees.
    pub(crate) visible_extensions: bool,
    /// `true` if an import of all names that is passed on holds in all files: C#'s `global using`.
    pub(crate) global_stars: bool,
    /// Checks whether other files can name a symbol of the file by import.
    pub(crate) exported: fn(&SourceFile, &Symbol) -> bool,
    /// Checks whether an import of all names of the file binds this one.
    pub(crate) in_star: fn(&Interface, &str) -> bool,
    /// `true` if one name of a file can be several things at once: a module or a type, and a value.
    pub(crate) namespaces: bool,
    /// `true` if names of macros are separate from all others, and uses of macros are marked by `!` at the end.
    pub(crate) macros_marked: bool,
    /// `true` if the names that a file imports can be imported from it.
    pub(crate) imports_pass_on: bool,
    /// `true` if an import of all names passes them on to files that import this file: C's `#include`.
    pub(crate) stars_pass_on: bool,
    pub(crate) merging: Merging,
    /// `true` if functions can have members and make instances.
    pub(crate) functions_are_types: bool,
    pub(crate) free_names: FreeNames,
    /// `true` if a name that is not bound can be a module: a Rust crate.
    pub(crate) free_names_are_modules: bool,
    /// `true` if a name that is not bound can be a package: the beginning of a name with its whole path.
    pub(crate) free_names_are_packages: bool,
    /// `true` if a local name is seen only behind its definition, and hides earlier ones of its scope.
    pub(crate) locals_in_order: bool,
    /// `true` if an assignment to a parameter binds a local name from there on, and the parameter is what callers pass before it: Python.
    pub(crate) parameters_reassigned: bool,
    /// `true` if members implement bases only in scopes that name the bases.
    pub(crate) bases_by_scope: bool,
    /// Name of the member that makes an instance callable.
    pub(crate) call_member: Option<&'static str>,
    /// Names of methods that are constructors although their kind does not say so; they override nothing.
    pub(crate) constructors: &'static [&'static str],
    /// Members of foreign generic types that give what the type contains: `get` of a map.
    pub(crate) content_members: &'static [&'static str],
    /// Members of foreign generic types that give something with the same content: `iter` of a list.
    pub(crate) same_members: &'static [&'static str],
    /// Members that give the instance itself if its type does not define them, because the value is wrapped: `unwrap` of a lock's result.
    pub(crate) transparent_members: &'static [&'static str],
    /// Names of the types, declared inside of a type or where it implements something, that say what it contains.
    pub(crate) content_types: &'static [&'static str],
    /// Name of the type, declared likewise, whose members an instance has beside its own.
    pub(crate) target_type: Option<&'static str>,
    /// Members of the language's own types, sorted.
    pub(crate) builtin_members: &'static [&'static str],
}

impl Rules {
    /// Checks whether a member's name says nothing, because the language's own types have one of that name.
    pub(crate) fn is_builtin_member(&self, name: &str) -> bool {
        self.builtin_members.binary_search(&name).is_ok()
    }
}

/// The defaults for rules that a family does not set.
pub(crate) const DEFAULT: Rules = Rules {
    family: Family::Other,
    languages: &[],
    modules: |_, _, _| Vec::new(),
    may_be_own: |_| false,
    submodule: |_, _, _| None,
    package: |_| None,
    in_package: |_, _| true,
    separator: ".",
    outer_packages: false,
    namespaces_are_whole: false,
    root_package: false,
    types_are_packages: false,
    sides: false,
    sight: Sight::All,
    members_visible: false,
    members_visible_in_body: false,
    functions_apart: &[],
    types_apart: false,
    visible_extensions: false,
    global_stars: false,
    exported: |_, symbol| symbol.exported,
    in_star: |_, _| true,
    namespaces: false,
    macros_marked: false,
    imports_pass_on: false,
    stars_pass_on: false,
    merging: Merging::Apart,
    functions_are_types: false,
    free_names: FreeNames::Unknown,
    free_names_are_modules: false,
    free_names_are_packages: false,
    locals_in_order: false,
    parameters_reassigned: false,
    bases_by_scope: false,
    call_member: None,
    constructors: &[],
    content_members: &[],
    same_members: &[],
    transparent_members: &[],
    content_types: &[],
    target_type: None,
    builtin_members: &[],
};

/// Returns the longest beginning of a path that is a package, with the names that follow; `None` if they are not in the package.
fn package_and_rest<'p>(repository: &Repository, family: Family, path: &'p str) -> Option<Located<'p>> {
    let separator = of_family(family).separator;
    let packages = repository.packages();
    let mut end = path.len();
    loop {
        if let Some(package) = packages.find(family, path.get(..end)?) {
            let rest: Vec<&str> = path.get(end..)?.split(separator).filter(|name| !name.is_empty()).collect();
            let known = rest.first().is_none_or(|first| !packages.members(package, first).is_empty());
            return known.then_some(Located { module: Module::Package(package), rest });
        }
        end = path.get(..end)?.rfind(separator)?;
    }
}

/// All families.
const ALL: &[&Rules] = &[
    &c::RULES,
    &csharp::RULES,
    &ecmascript::RULES,
    &go::RULES,
    &jvm::RULES,
    &php::RULES,
    &python::RULES,
    &ruby::RULES,
    &rust::RULES,
    &swift::RULES,
];

/// Returns the rules of a language.
pub(crate) fn of(language: &str) -> &'static Rules {
    ALL.iter().find(|rules| rules.languages.contains(&language)).unwrap_or(&&DEFAULT)
}

/// Returns the rules of a family.
pub(crate) fn of_family(family: Family) -> &'static Rules {
    ALL.iter().find(|rules| rules.family == family).unwrap_or(&&DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_searched_are_sorted_and_languages_belong_to_one_family() {
        let mut languages = std::collections::HashSet::new();
        for rules in ALL {
            assert!(rules.builtin_members.is_sorted(), "{:?}", rules.family);
            assert_eq!(of_family(rules.family).languages, rules.languages);
            for language in rules.languages {
                assert!(languages.insert(language), "{language}");
                assert!(
                    languages::by_name(language).is_some_and(|known| known.id == *language),
                    "{language}"
                );
            }
        }
    }
}
