//! The target of a use of a name.

use languages::symbols::{Place, SymbolId, UseKind};

/// A use of a name in a file, with what it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The kind of use.
    pub kind: ReferenceKind,
    /// The place of the name.
    pub place: Place,
    /// The innermost definition around it, of those that are not local names; `None` at the top level of the file.
    pub source: Option<SymbolId>,
    /// `true` if a type that this file does not define derives from the target by this use, as in `impl Trait for String`. Then there is no
    /// source.
    pub derives_elsewhere: bool,
    /// The simple name.
    pub name: String,
    /// The targets: overloads and the parts of a type that is defined in several places count as several. Empty if only the name is known.
    pub targets: Vec<Target>,
}

/// The kind of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceKind {
    /// A use in the text.
    Use(UseKind),
    /// A method that overrides or implements the target; the place is that of its name, and the source is the method itself.
    Override,
}

/// A symbol of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The number of the file in its repository.
    pub file: u32,
    /// The symbol, a number of the file's interface or body.
    pub symbol: SymbolId,
}
