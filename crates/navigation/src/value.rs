//! The meanings of expressions and names while they are resolved.

use languages::symbols::{ExprId, Place, ScopeId};

use super::reference::Target;

/// An expression at a place: everything needed to evaluate it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct At {
    pub(crate) file: u32,
    /// `true` if the expression is one of the body, `false` if it is one of the interface.
    pub(crate) body: bool,
    /// The scope in which its names are looked up.
    pub(crate) scope: ScopeId,
    pub(crate) expr: ExprId,
    /// Its place, which matters for local names that hide earlier ones; [`ANYWHERE`] if it is not inside of a function.
    pub(crate) place: Place,
}

/// A place after all others.
pub(crate) const ANYWHERE: Place = Place { line: u32::MAX, column: u32::MAX };

/// A type, with the arguments of a generic one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Type {
    /// The symbol that defines it; `None` if it is defined outside of the repository.
    pub(crate) of: Option<Target>,
    /// The [`Apply`](languages::symbols::Expr::Apply) that lists its arguments.
    pub(crate) arguments: Option<At>,
}

impl Type {
    /// Creates a type without arguments.
    pub(crate) fn plain(of: Target) -> Self {
        Self { of: Some(of), arguments: None }
    }
}

/// The instance on which a member was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Receiver {
    /// Its type, which `this` and `Self` mean inside of the member.
    pub(crate) this: Type,
    /// The type that has the member: the same, or one of its bases. Its arguments are those of its type parameters.
    pub(crate) owner: Type,
}

/// A module: something that an import can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Module {
    /// A file.
    File(u32),
    /// A folder without a file of its own: that of `file`, whose path is the first `bytes` bytes of the file's path.
    Folder { file: u32, bytes: u32 },
    /// A package or namespace by its name, a number of [`Packages`](super::packages::Packages).
    Package(u32),
}

/// The namespace in which a name is looked up, in languages in which it may mean different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    /// A value that is read or written.
    Value,
    /// Something that is called.
    Function,
    /// A type.
    Type,
}

/// The meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Found {
    /// A symbol, and the instance through which it was reached.
    Symbol(Target, Option<Receiver>),
    /// A module.
    Module(Module),
    /// Something else that is known: a value outside of the repository, or a part of one.
    Value(Value),
    /// Nothing is known about it.
    Unknown,
}

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// Nothing is known about it.
    Unknown,
    /// Something that is defined outside of the repository.
    External,
    /// A type itself.
    Type(Type),
    /// An instance of a type.
    Instance(Type),
    /// The instance, seen as its base types.
    Super(Type),
    /// A function, with the instance whose method it is.
    Function(Target, Option<Receiver>),
    /// A function outside of the repository that gives what its generic owner contains, such as `get` of a map.
    Content(At),
    /// A function outside of the repository that gives an instance of this type.
    Gives(Type),
    /// A namespace inside a file.
    Namespace(Target),
    /// A module.
    Module(Module),
}
