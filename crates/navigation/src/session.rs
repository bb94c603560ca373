//! The state of resolving one file: what is known so far, and how much work is left.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use languages::symbols::{Arena, Body, Expr, Scope, ScopeId, ScopeKind, Symbol, SymbolKind};

use super::index::{Half, Index};
use super::reference::Target;
use super::repository::Repository;
use super::rules::{self, Family, Rules};
use super::value::{ANYWHERE, At, Found, Receiver, Type, Value};

/// Deepest evaluation: an expression of an expression, through all files.
const DEPTH_MAX: u32 = 60;
/// Steps for one use, and for all uses of a file.
const STEPS_PER_USE: u32 = 4_000;
const STEPS_PER_FILE: u64 = 20_000_000;
/// Maximum number of things that one name or expression may be.
pub(crate) const RESULTS_MAX: usize = 24;

/// The work on one file.
pub(crate) struct Session<'r> {
    pub(crate) repository: &'r Repository,
    pub(crate) file: u32,
    body: Half<'r>,
    body_index: Index,
    depth: u32,
    steps: u32,
    steps_of_file: u64,
    /// The number of times that something was given up: too deep, too much work, or a circle. Results of such attempts are not cached.
    pub(crate) given_up: u64,
    /// The questions that are being evaluated.
    pub(crate) active: HashSet<Question<'r>>,
    pub(crate) values: HashMap<Target, Rc<[Value]>>,
    pub(crate) exported: HashMap<(u32, &'r str), Rc<[Found]>>,
    /// Members that types have themselves.
    pub(crate) members: HashMap<(Target, &'r str), Rc<[Target]>>,
    /// The definitions that are one type together.
    pub(crate) parts: HashMap<Target, Rc<[Target]>>,
    pub(crate) bases: HashMap<Target, Rc<[Value]>>,
    /// The packages of namespaces.
    pub(crate) namespaces: HashMap<Target, Option<u32>>,
    pub(crate) extensions: HashMap<Target, Rc<[(u32, ScopeId)]>>,
    pub(crate) imports: HashMap<(u32, bool, u32), Rc<[Found]>>,
    /// The last name of the type of a value.
    pub(crate) type_names: HashMap<At, Option<&'r str>>,
    /// The packages whose names a file sees in every class.
    pub(crate) ambient: HashMap<u32, Rc<[u32]>>,
    /// The files that a file includes, directly or through others.
    pub(crate) included: HashMap<u32, Rc<HashSet<u32>>>,
    pub(crate) derived: Derived<'r>,
}

/// The scopes of types that have a base of a name, by the scope around them and the name, in text order.
pub(crate) type DerivedScopes<'r> = HashMap<(ScopeId, &'r str), Vec<ScopeId>>;

/// The known bases of a file's types.
#[derive(Default)]
pub(crate) struct Derived<'r> {
    pub(crate) scopes: Option<Rc<DerivedScopes<'r>>>,
    /// The number of times that a base was named in a scope.
    pub(crate) named: HashMap<(ScopeId, &'r str), usize>,
}

/// Something that is evaluated only once at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Question<'r> {
    Value(Target),
    Decorated(Target),
    Exported(u32, &'r str),
    Import(u32, bool, u32),
    Extensions(Target),
}

impl<'r> Session<'r> {
    pub(crate) fn new(repository: &'r Repository, file: u32, body: &'r Body) -> Option<Self> {
        let half = Half::body(&repository.files().get(file as usize)?.interface, body);
        Some(Self {
            repository,
            file,
            body: half,
            body_index: Index::new(half),
            depth: 0,
            steps: 0,
            steps_of_file: 0,
            given_up: 0,
            active: HashSet::new(),
            values: HashMap::new(),
            exported: HashMap::new(),
            members: HashMap::new(),
            parts: HashMap::new(),
            bases: HashMap::new(),
            namespaces: HashMap::new(),
            extensions: HashMap::new(),
            imports: HashMap::new(),
            type_names: HashMap::new(),
            ambient: HashMap::new(),
            included: HashMap::new(),
            derived: Derived::default(),
        })
    }

    /// Begins a new use.
    pub(crate) fn begin(&mut self) {
        self.steps_of_file += u64::from(self.steps);
        self.steps = 0;
    }

    /// Goes one level deeper. `None` if that is too deep or the work is too much.
    pub(crate) fn deeper<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> Option<R> {
        self.steps += 1;
        if self.depth >= DEPTH_MAX || self.steps > STEPS_PER_USE || self.steps_of_file > STEPS_PER_FILE {
            self.given_up += 1;
            return None;
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        Some(result)
    }

    /// Answers a question one level deeper. `None` also if it is being answered already.
    pub(crate) fn once<R>(&mut self, question: Question<'r>, work: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if !self.active.insert(question) {
            self.given_up += 1;
            return None;
        }
        let result = self.deeper(work);
        self.active.remove(&question);
        result
    }

    /// Counts work that is not nested.
    pub(crate) fn step(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps as u32);
    }

    pub(crate) fn rules(&self, file: u32) -> &'static Rules {
        rules::of_family(self.family(file))
    }

    pub(crate) fn family(&self, file: u32) -> Family {
        self.repository.paths.family(file)
    }

    /// Returns the halves of a file that can be seen: both of the own file, only the interface of others.
    pub(crate) fn half(&self, file: u32, body: bool) -> Option<Half<'r>> {
        match body {
            true => (file == self.file).then_some(self.body),
            false => self.repository.interface(file).map(|(half, _)| half),
        }
    }

    fn index(&self, file: u32, body: bool) -> Option<&Index> {
        match body {
            true => (file == self.file).then_some(&self.body_index),
            false => self.repository.interface(file).map(|(_, index)| index),
        }
    }

    /// Checks whether a scope of a file is in its body.
    pub(crate) fn scope_in_body(&self, file: u32, scope: ScopeId) -> bool {
        self.repository.interface(file).is_none_or(|(half, _)| scope as usize >= half.scopes.len())
    }

    pub(crate) fn scope(&self, file: u32, scope: ScopeId) -> Option<&'r Scope> {
        let (half, _) = self.repository.interface(file)?;
        match (scope as usize).checked_sub(half.scopes.len()) {
            None => half.scopes.get(scope as usize),
            Some(at) => self.half(file, true)?.scopes.get(at),
        }
    }

    /// Checks whether a symbol of a file is in its body.
    pub(crate) fn in_body(&self, target: Target) -> bool {
        self.repository
            .interface(target.file)
            .is_none_or(|(half, _)| target.symbol as usize >= half.symbols.len())
    }

    /// Returns a symbol, with the arena of its expressions.
    pub(crate) fn symbol(&self, target: Target) -> Option<(&'r Symbol, &'r Arena)> {
        if self.in_body(target) {
            let half = self.half(target.file, true)?;
            let at = target.symbol.checked_sub(half.first_symbol)?;
            return Some((half.symbols.get(at as usize)?, half.arena));
        }
        self.repository.seen_symbol(target)
    }

    /// Checks whether a symbol only announces what is defined elsewhere.
    pub(crate) fn is_declaration(&self, target: Target) -> bool {
        self.symbol(target).is_some_and(|(symbol, _)| symbol.is_declaration)
    }

    pub(crate) fn kind(&self, target: Target) -> Option<SymbolKind> {
        self.symbol(target).map(|(symbol, _)| symbol.kind)
    }

    pub(crate) fn name_of(&self, target: Target) -> &'r str {
        self.symbol(target).map_or("", |(symbol, arena)| arena.text(symbol.name))
    }

    /// Returns an expression that belongs to a symbol, to be evaluated in the scope of the symbol.
    pub(crate) fn at_symbol(&self, target: Target, expr: u32) -> Option<At> {
        let (symbol, _) = self.symbol(target)?;
        let place = symbol.place;
        Some(At { file: target.file, body: self.in_body(target), scope: symbol.scope, expr, place })
    }

    pub(crate) fn expr(&self, at: At) -> &'r Expr {
        self.half(at.file, at.body).map_or(&Expr::Unknown, |half| half.arena.expr(at.expr))
    }

    pub(crate) fn text(&self, at: At, text: u32) -> &'r str {
        self.half(at.file, at.body).map_or("", |half| half.arena.text(text))
    }

    /// Returns the symbols of a name in a scope.
    pub(crate) fn symbols_in(&mut self, file: u32, scope: ScopeId, name: &str) -> Vec<Target> {
        let mut found = Vec::new();
        // Symbols of a scope of the body are in the body, and those of the others in the interface.
        let body = self.scope_in_body(file, scope);
        if let (Some(half), Some(index)) = (self.half(file, body), self.index(file, body)) {
            found.extend(index.symbols(half, scope, name).map(|symbol| Target { file, symbol }));
        }
        self.step(1 + found.len());
        found
    }

    /// Returns all symbols of a scope.
    pub(crate) fn all_symbols_in(&self, file: u32, scope: ScopeId) -> Vec<Target> {
        let body = self.scope_in_body(file, scope);
        let index = self.index(file, body);
        index.map_or_else(Vec::new, |index| {
            index.symbols_of(scope).map(|symbol| Target { file, symbol }).collect()
        })
    }

    /// Returns the numbers of the imports that bind a name in a scope.
    pub(crate) fn imports_in(&mut self, file: u32, scope: ScopeId, name: &str) -> Vec<(bool, u32)> {
        self.step(1);
        let body = self.scope_in_body(file, scope);
        match (self.half(file, body), self.index(file, body)) {
            (Some(half), Some(index)) => index.imports(half, scope, name).map(|at| (body, at)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the numbers of the imports of all names in a scope.
    pub(crate) fn stars_in(&mut self, file: u32, scope: ScopeId) -> Vec<(bool, u32)> {
        self.step(1);
        let body = self.scope_in_body(file, scope);
        self.index(file, body)
            .map_or_else(Vec::new, |index| index.stars(scope).map(|at| (body, at)).collect())
    }

    /// Returns the innermost scope, `scope` itself or one around it, that holds the members of a type.
    pub(crate) fn type_scope(&self, file: u32, mut scope: ScopeId) -> Option<ScopeId> {
        loop {
            let row = self.scope(file, scope)?;
            if row.kind == ScopeKind::Type {
                return Some(scope);
            }
            if scope == 0 || row.parent >= scope {
                return None;
            }
            scope = row.parent;
        }
    }

    /// Returns the type that a scope of members belongs to.
    pub(crate) fn type_of_scope(&mut self, file: u32, scope: ScopeId) -> Option<Type> {
        let row = self.scope(file, scope)?;
        if let Some(symbol) = row.symbol.filter(|_| row.target.is_none()) {
            return Some(Type::plain(Target { file, symbol }));
        }
        let mut expr = row.target?;
        if self.is_nameless(file, scope) {
            expr = *row.bases.first()?;
        }
        let body = self.scope_in_body(file, scope);
        let at = At { file, body, scope: row.parent, expr, place: ANYWHERE };
        self.evaluate(at, None).into_iter().find_map(|value| match value {
            Value::Type(of) | Value::Instance(of) => Some(of),
            Value::Function(target, _) => Some(Type::plain(target)),
            _ => None,
        })
    }

    /// Checks whether a scope is that of a class without a name, which is treated as its first base.
    pub(crate) fn is_nameless(&self, file: u32, scope: ScopeId) -> bool {
        let Some(row) = self.scope(file, scope) else { return false };
        let Some(expr) = row.target.filter(|_| row.symbol.is_none()) else { return false };
        let (body, place) = (self.scope_in_body(file, scope), ANYWHERE);
        let at = At { file, body, scope: row.parent, expr, place };
        *self.expr(at) == Expr::Unknown
    }

    /// Returns what `this` is in a scope.
    pub(crate) fn this(&mut self, file: u32, scope: ScopeId, receiver: Option<Receiver>) -> Option<Type> {
        if let Some(receiver) = receiver {
            return Some(receiver.this);
        }
        let scope = self.type_scope(file, scope)?;
        self.type_of_scope(file, scope)
    }
}
