//! The data types of a file's symbols.
//!
//! They come in two halves. The [`Interface`] is visible to other files, and is needed to resolve any file that imports this one; the
//! [`Body`] is the rest, needed only to resolve this file. Numbers of scopes and symbols count through both halves, the interface first.
//! Each half has its own expressions and texts.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// Number of a scope in its file. Scope 0 is the file.
pub type ScopeId = u32;
/// Number of a symbol in its file.
pub type SymbolId = u32;
/// Number of an expression in its half.
pub type ExprId = u32;
/// Number of a text in its half.
pub type TextId = u32;

/// The symbols of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSymbols {
    /// The half that is visible to other files.
    pub interface: Interface,
    /// The rest.
    pub body: Body,
    /// `true` if the file has more than the limits allow; everything beyond them is missing.
    pub truncated: bool,
}

/// The symbols of a file that are visible to other files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// The package or namespace that the whole file declares, as written: Go, Java, Kotlin, Scala, PHP, C# (file-scoped).
    pub package: Option<String>,
    /// The expressions of this half.
    pub arena: Arena,
    /// The file (0), and the namespaces and types that are not inside functions.
    pub scopes: Vec<Scope>,
    /// Definitions in these scopes.
    pub symbols: Vec<Symbol>,
    /// Imports in these scopes.
    pub imports: Vec<Import>,
    /// Names that the file exports by a statement of its own, apart from the definition: `export { a as b }`, `export default x`,
    /// `module.exports = …`.
    pub exports: Vec<Export>,
}

/// The symbols that only the file itself needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The expressions of this half.
    pub arena: Arena,
    /// Functions and blocks, and the types inside them; numbered after the scopes of the interface.
    pub scopes: Vec<Scope>,
    /// Parameters, local names and definitions inside functions; numbered after the symbols of the interface.
    pub symbols: Vec<Symbol>,
    /// Imports inside functions.
    pub imports: Vec<Import>,
    /// Uses of names, in text order.
    pub uses: Vec<Use>,
}

/// Expressions, each after its parts, and their texts without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arena {
    /// Names, module paths.
    pub texts: Vec<String>,
    /// Expressions. A part has a smaller number than the expression around it, so that walking down always ends.
    pub exprs: Vec<Expr>,
}

/// An expression, reduced to what resolving names needs. Types and values share one form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// An expression that names do not determine: a literal, an operation.
    Unknown,
    /// A name, looked up in the scopes around it.
    Name(TextId),
    /// A member of something: `a.b`, `a::b`, `a->b`.
    Member(ExprId, TextId),
    /// The result of calling something. Calling a type makes an instance.
    Call(ExprId),
    /// A value of the type that the expression names: a parameter `x: T`, or `new T()`.
    Instance(ExprId),
    /// A generic type with its arguments: `List<T>`, `dict[str, T]`.
    Apply(ExprId, Vec<ExprId>),
    /// The content of something: an element, the result of a promise, the content of an option or a pointer. For a generic type, this is
    /// its last argument.
    Inside(ExprId),
    /// One of several: a union type, the branches of a condition.
    Either(Vec<ExprId>),
    /// The instance whose method this is: `this`, `self`.
    This,
    /// The type whose method this is: `cls`, `Self`, `static`.
    ThisType,
    /// The instance, looked at as its base types.
    Super,
    /// The value that a function of this type receives for the parameter of this number, from 0. A function's type is a
    /// [`Function`](FUNCTION_TYPE) with the types of its parameters and that of its result as arguments.
    Given(ExprId, u32),
}

/// The name of the type that function types are applied to.
pub const FUNCTION_TYPE: &str = "Function";

/// A scope: where names are bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The scope around it; of the file, itself. Always smaller than its own number, except for the file.
    pub parent: ScopeId,
    /// Its kind.
    pub kind: ScopeKind,
    /// The symbol whose inside it is: a type, a function, a namespace.
    pub symbol: Option<SymbolId>,
    /// For a type scope without a symbol, the type to which it adds members: a Rust `impl`, a Go method (one scope for each), an
    /// extension, a C++ member that is defined outside of its class. With a symbol, that symbol, which the scope around binds, is also
    /// a member of the type: an extension function of Kotlin or C#.
    pub target: Option<ExprId>,
    /// Traits or interfaces that `target` implements by this scope: `impl Trait for T`.
    pub bases: Vec<ExprId>,
}

/// The kind of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeKind {
    /// The whole file.
    File,
    /// A namespace or an inner module.
    Namespace,
    /// The members of a type.
    Type,
    /// A function: its parameters and its body.
    Function,
    /// A block inside a function, in languages that have block scope.
    Block,
}

/// A place in a file: that of a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Line, 1-based.
    pub line: u32,
    /// Column in characters, 1-based.
    pub column: u32,
}

/// Something with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Simple name, a text of its half.
    pub name: TextId,
    /// Its kind.
    pub kind: SymbolKind,
    /// The scope that binds it.
    pub scope: ScopeId,
    /// The scope of its inside.
    pub inside: Option<ScopeId>,
    /// The place of its name.
    pub place: Place,
    /// `true` if other files can use it, as far as the language says so where it is defined.
    pub exported: bool,
    /// `true` if it belongs to the type and not to its instances.
    pub is_static: bool,
    /// `true` if it only announces a definition in another place: a prototype in a C header, `declare` in TypeScript.
    pub is_declaration: bool,
    /// `true` if it is one of the definitions that chunks list, which can be requested by name. Languages differ in which fields are.
    pub is_listed: bool,
    /// The declared type of a value; the declared result of a function; the aliased type or value of an alias; of a type whose
    /// instances can be called, the type of that function.
    pub declared: Option<ExprId>,
    /// The value that is assigned to it first, if no type is declared; for a function, its result if that is simple.
    pub value: Option<ExprId>,
    /// Base types and interfaces of a type, in order. Of a function, what its decorators make of it.
    pub bases: Vec<ExprId>,
}

/// The kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SymbolKind {
    /// A function or method.
    Function,
    /// A constructor.
    Constructor,
    /// A class, struct, interface, trait, enum, union.
    Type,
    /// Another name for a type or value.
    Alias,
    /// A namespace or inner module.
    Namespace,
    /// A variable or constant outside of functions.
    Variable,
    /// A field or property of a type, or an enum's member.
    Field,
    /// A macro.
    Macro,
    /// A parameter of a function.
    Parameter,
    /// A local variable.
    Local,
    /// A type parameter.
    TypeParameter,
}

/// An import of a module, or of names from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The scope that binds the name.
    pub scope: ScopeId,
    /// The place of the imported name, or of the module if it is imported as a whole.
    pub place: Place,
    /// The module, as the language writes it, without quotes: `./a`, `..pkg.mod`, `crate::store`, `a.b.C`.
    pub module: TextId,
    /// The imported part of the module.
    pub what: Imported,
    /// The name that it gets here; `None` if it gets none.
    pub local: Option<TextId>,
    /// The name under which the file passes it on by this statement: `export { a as b } from`, `pub use`. For `All`, any text.
    pub exported: Option<TextId>,
}

/// The part of a module that is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Imported {
    /// The module itself.
    Module,
    /// A name of the module.
    Name(TextId),
    /// All public names of the module.
    All,
}

/// A name that a statement of its own exports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The name outside.
    pub name: TextId,
    /// Its value, looked up in the file's scope.
    pub value: ExprId,
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The kind of the use.
    pub kind: UseKind,
    /// The scope in which it stands.
    pub scope: ScopeId,
    /// A [`Name`](Expr::Name) or a [`Member`](Expr::Member): the last name of it is used here. Uses of the names before it are listed
    /// by themselves.
    pub expr: ExprId,
    /// The place of that name.
    pub place: Place,
}

/// The kind of a use of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum UseKind {
    /// It is called, or instantiated.
    Call,
    /// It is read.
    Read,
    /// It is assigned.
    Write,
    /// It is imported.
    Import,
    /// It is named as a type.
    Type,
    /// A type derives from it or implements it.
    Inherit,
}

impl Arena {
    /// A text; empty for a number that the arena does not have, because it may come from another process.
    #[must_use]
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    /// An expression; `Unknown` for a number that the arena does not have.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        self.exprs.get(id as usize).unwrap_or(&Expr::Unknown)
    }
}

/// Returns the expressions that an expression is made of.
pub(super) fn parts(expr: &Expr) -> Vec<ExprId> {
    match expr {
        Expr::Member(of, _) | Expr::Call(of) | Expr::Instance(of) | Expr::Inside(of) | Expr::Given(of, _) => {
            vec![*of]
        }
        Expr::Apply(of, arguments) => std::iter::once(*of).chain(arguments.iter().copied()).collect(),
        Expr::Either(all) => all.clone(),
        Expr::Unknown | Expr::Name(_) | Expr::This | Expr::ThisType | Expr::Super => Vec::new(),
    }
}

impl Arena {
    /// Checks whether each expression is made of earlier ones.
    fn is_sound(&self) -> bool {
        self.exprs
            .iter()
            .enumerate()
            .all(|(at, expr)| parts(expr).into_iter().all(|part| (part as usize) < at))
    }
}

impl FileSymbols {
    /// Marks the symbols that chunks list, given the places of their definitions.
    pub(crate) fn mark_listed(&mut self, listed: &HashSet<Place>) {
        for symbol in self.interface.symbols.iter_mut().chain(&mut self.body.symbols) {
            symbol.is_listed = listed.contains(&symbol.place);
        }
    }

    /// Checks whether all numbers are in range and all walks through them end. Symbols from another process are checked this way first;
    /// names and places may still be wrong, which is harmless.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.body.is_sound(&self.interface)
    }
}

impl Interface {
    /// As [`FileSymbols::is_sound`], for an interface without its body: other files use only the interface.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let mut numbered = (0..).zip(&self.scopes);
        let scope_count = self.scopes.len() as ScopeId;
        numbered.next().is_some_and(|(_, file)| file.parent == 0 && file.kind == ScopeKind::File)
            && numbered.all(|(at, scope)| scope.parent < at)
            && self.symbols.iter().all(|symbol| symbol.scope < scope_count)
            && self.imports.iter().all(|import| import.scope < scope_count)
            && self.arena.is_sound()
    }
}

impl Body {
    /// As [`FileSymbols::is_sound`], for a body with its interface.
    #[must_use]
    pub fn is_sound(&self, interface: &Interface) -> bool {
        let scopes = || interface.scopes.iter().chain(&self.scopes);
        let symbols = || interface.symbols.iter().chain(&self.symbols);
        let (scope_count, symbol_count) = (scopes().count() as ScopeId, symbols().count() as SymbolId);
        let mut numbered = (0..).zip(scopes());
        numbered.next().is_some_and(|(_, file)| file.parent == 0 && file.kind == ScopeKind::File)
            && numbered.all(|(at, scope)| scope.parent < at)
            && scopes().all(|scope| scope.symbol.is_none_or(|symbol| symbol < symbol_count))
            && symbols().all(|symbol| symbol.scope < scope_count)
            && symbols().all(|symbol| symbol.inside.is_none_or(|inside| inside < scope_count))
            && interface.imports.iter().chain(&self.imports).all(|import| import.scope < scope_count)
            && self.uses.iter().all(|used| used.scope < scope_count)
            && interface.arena.is_sound()
            && self.arena.is_sound()
    }
}
