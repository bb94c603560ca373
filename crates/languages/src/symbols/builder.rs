//! Collects the symbols that an extractor reports.

use std::collections::HashMap;

use tree_sitter::Node;

use super::table::{
    Arena, Export, Expr, ExprId, Import, Imported, Place, Scope, ScopeId, ScopeKind, Symbol, SymbolId,
    SymbolKind, TextId, Use, UseKind,
};
use crate::identifier::Marks;
use crate::stop::Stop;

/// Maximum number of scopes, symbols, imports and uses of one file, each. Generated files have more; the rest is dropped.
pub(super) const ROWS_MAX: usize = 100_000;
/// Maximum number of expressions of one file.
const EXPRS_MAX: usize = 400_000;
/// Maximum number of nested nodes into which an extractor descends; deeper ones are not seen.
const DEPTH_MAX: u32 = 300;
/// Maximum length of a name or module path in bytes; longer ones are not names that people write.
const TEXT_BYTES_MAX: usize = 512;

/// A symbol as an extractor reports it. Start from [`New::default`] and set what the language says.
#[derive(Debug, Clone, Default)]
pub(crate) struct New {
    pub(crate) exported: bool,
    pub(crate) is_static: bool,
    pub(crate) is_declaration: bool,
    pub(crate) declared: Option<ExprId>,
    pub(crate) value: Option<ExprId>,
    pub(crate) bases: Vec<ExprId>,
}

/// Visits a declaration, statement or expression. Returns the value of an expression.
pub(crate) type Visit = for<'t> fn(&mut Builder<'t>, Node<'t>) -> ExprId;

/// The function of a builder whose extractor has not set one.
fn unseen<'t>(b: &mut Builder<'t>, _: Node<'t>) -> ExprId {
    b.unknown()
}

/// Collects the symbols of a file. Expressions and texts are numbered in one arena while it works.
pub(crate) struct Builder<'t> {
    pub(super) text: &'t str,
    /// The way in which the language writes names.
    marks: &'static Marks,
    pub(super) stop: &'t Stop<'t>,
    pub(super) visit: Visit,
    pub(super) stopped: bool,
    pub(super) truncated: bool,
    depth: u32,
    pub(super) package: Option<String>,
    pub(super) texts: HashMap<String, TextId>,
    exprs: HashMap<Expr, ExprId>,
    pub(super) arena: Arena,
    pub(super) scopes: Vec<Scope>,
    pub(super) symbols: Vec<Symbol>,
    pub(super) imports: Vec<Import>,
    pub(super) exports: Vec<Export>,
    pub(super) uses: Vec<Use>,
    /// The byte at which each place begins: of symbols, imports and uses, in this order when they are placed.
    pub(super) symbol_bytes: Vec<usize>,
    pub(super) import_bytes: Vec<usize>,
    pub(super) use_bytes: Vec<usize>,
    /// The scopes that are open, innermost last.
    pub(super) open: Vec<ScopeId>,
    /// The latest symbol of each name in each scope, and whether all of them are local names.
    pub(super) bound: HashMap<(ScopeId, TextId), (SymbolId, bool)>,
    /// `true` if the names of functions are separate from those of variables.
    pub(super) functions_apart: bool,
}

impl<'t> Builder<'t> {
    pub(crate) fn new((text, marks): (&'t str, &'static Marks), stop: &'t Stop<'t>) -> Self {
        let file = Scope { parent: 0, kind: ScopeKind::File, symbol: None, target: None, bases: Vec::new() };
        Self {
            text,
            marks,
            stop,
            visit: unseen,
            stopped: false,
            truncated: false,
            depth: 0,
            package: None,
            texts: HashMap::new(),
            exprs: HashMap::new(),
            arena: Arena::default(),
            scopes: vec![file],
            symbols: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            uses: Vec::new(),
            symbol_bytes: Vec::new(),
            import_bytes: Vec::new(),
            use_bytes: Vec::new(),
            open: vec![0],
            bound: HashMap::new(),
            functions_apart: false,
        }
    }

    /// Runs `work` one level deeper, for each node into which an extractor descends. Does nothing where the text is nested too
    /// deeply or the time is up.
    pub(crate) fn descend(&mut self, work: impl FnOnce(&mut Self)) {
        if self.stop.step(1).is_err() {
            self.stopped = true;
        }
        if self.depth >= DEPTH_MAX {
            self.truncated = true;
        } else if !self.stopped {
            self.depth += 1;
            work(self);
            self.depth -= 1;
        }
    }

    /// As [`descend`](Self::descend), for the value that `work` finds.
    pub(crate) fn descend_for_value(&mut self, work: impl FnOnce(&mut Self) -> ExprId) -> ExprId {
        let mut value = self.unknown();
        self.descend(|builder| value = work(builder));
        value
    }

    /// As [`descend`](Self::descend), for an extractor that has state of its own: goes one level deeper, if it says so, until
    /// [`leave`](Self::leave).
    pub(crate) fn enter(&mut self) -> bool {
        if self.stop.step(1).is_err() {
            self.stopped = true;
        }
        if self.depth >= DEPTH_MAX {
            self.truncated = true;
        }
        let enters = !self.stopped && self.depth < DEPTH_MAX;
        self.depth += u32::from(enters);
        enters
    }

    /// Ends what [`enter`](Self::enter) began.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Calls `work` for each named child of a node, one level deeper.
    pub(crate) fn each_child(&mut self, node: Node<'t>, mut work: impl FnMut(&mut Self, Node<'t>)) {
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            if cursor.node().is_named() {
                let child = cursor.node();
                self.descend(|builder| work(builder, child));
            }
            if self.stopped || !cursor.goto_next_sibling() {
                return;
            }
        }
    }

    /// The text of a node.
    pub(crate) fn text(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Says that functions have names of their own, so that a local name does not hide the function that is called.
    pub(crate) fn functions_apart(&mut self) {
        self.functions_apart = true;
    }

    /// Declares the package of the file.
    pub(crate) fn package(&mut self, package: &str) {
        if package.len() <= TEXT_BYTES_MAX {
            self.package = Some(package.to_owned());
        }
    }

    /// The innermost open scope.
    pub(crate) fn scope(&self) -> ScopeId {
        self.open.last().copied().unwrap_or(0)
    }

    /// Returns the kind of the innermost open scope.
    pub(crate) fn scope_kind(&self) -> ScopeKind {
        self.scopes[self.scope() as usize].kind
    }

    /// Returns `true` if any of the open scopes is a function.
    pub(crate) fn in_function(&self) -> bool {
        self.open.iter().any(|scope| self.scopes[*scope as usize].kind == ScopeKind::Function)
    }

    /// The innermost open scope of a kind.
    pub(crate) fn enclosing(&self, kind: ScopeKind) -> Option<ScopeId> {
        self.open.iter().rev().copied().find(|scope| self.scopes[*scope as usize].kind == kind)
    }

    /// Runs `work` inside a new scope, which is the inside of `symbol` if there is one.
    pub(crate) fn within(&mut self, kind: ScopeKind, symbol: Option<SymbolId>, work: impl FnOnce(&mut Self)) {
        let scope = Scope { parent: self.scope(), kind, symbol, target: None, bases: Vec::new() };
        self.within_scope(scope, work);
    }

    /// Runs `work` inside a scope that adds members to a type, possibly as an implementation of `bases`.
    pub(crate) fn within_target(&mut self, target: ExprId, bases: Vec<ExprId>, work: impl FnOnce(&mut Self)) {
        let scope =
            Scope { parent: self.scope(), kind: ScopeKind::Type, symbol: None, target: Some(target), bases };
        self.within_scope(scope, work);
    }

    pub(super) fn within_scope(&mut self, scope: Scope, work: impl FnOnce(&mut Self)) {
        if self.open_scope(scope) {
            work(self);
            self.close();
        }
    }

    fn open_scope(&mut self, scope: Scope) -> bool {
        if self.scopes.len() >= ROWS_MAX {
            self.truncated = true;
            return false;
        }
        let id = self.scopes.len() as ScopeId;
        if let Some(symbol) = scope.symbol.and_then(|symbol| self.symbols.get_mut(symbol as usize)) {
            symbol.inside.get_or_insert(id);
        }
        self.scopes.push(scope);
        self.open.push(id);
        true
    }

    /// As [`within`](Self::within), for an extractor that has state of its own: opens a scope, if it says so, until
    /// [`close`](Self::close).
    pub(crate) fn open(&mut self, kind: ScopeKind, symbol: Option<SymbolId>) -> bool {
        let parent = self.scope();
        self.open_scope(Scope { parent, kind, symbol, target: None, bases: Vec::new() })
    }

    /// Ends what [`open`](Self::open) began.
    pub(crate) fn close(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// As [`within_target`](Self::within_target), for an extractor that has state of its own: opens a scope that adds members to a
    /// type, if it says so, until [`close`](Self::close).
    pub(crate) fn open_target(&mut self, target: ExprId) -> bool {
        let parent = self.scope();
        let (kind, target) = (ScopeKind::Type, Some(target));
        self.open_scope(Scope { parent, kind, symbol: None, target, bases: Vec::new() })
    }

    /// Closes all scopes but the first `count`, and returns them for [`reopen`](Self::reopen).
    pub(crate) fn close_to(&mut self, count: usize) -> Vec<ScopeId> {
        self.open.split_off(count.clamp(1, self.open.len()))
    }

    /// Opens again what [`close_to`](Self::close_to) closed.
    pub(crate) fn reopen(&mut self, scopes: Vec<ScopeId>) {
        self.open.extend(scopes);
    }

    /// Returns the number of open scopes.
    pub(crate) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// The open scopes with their kinds, outermost first.
    pub(crate) fn open_scopes(&self) -> impl DoubleEndedIterator<Item = (ScopeId, ScopeKind)> + '_ {
        self.open.iter().map(|scope| (*scope, self.scopes[*scope as usize].kind))
    }

    /// Defines a symbol, named by a node, in the innermost open scope. `None` if the file has too many or the name is not one.
    pub(crate) fn define(&mut self, name: Node<'_>, kind: SymbolKind, new: New) -> Option<SymbolId> {
        self.define_in(self.scope(), self.text(name), name.start_byte(), kind, new)
    }

    /// Defines a symbol in a given scope, by a name that begins at a byte of the text.
    pub(crate) fn define_in(
        &mut self,
        scope: ScopeId,
        name: &str,
        at: usize,
        kind: SymbolKind,
        new: New,
    ) -> Option<SymbolId> {
        if self.symbols.len() >= ROWS_MAX {
            self.truncated = true;
            return None;
        }
        let name = self.intern_name(name)?;
        let id = self.symbols.len() as SymbolId;
        let New { exported, is_static, is_declaration, declared, value, bases } = new;
        let (inside, place) = (None, Place::default());
        self.symbols.push(Symbol {
            name,
            kind,
            scope,
            inside,
            place,
            exported,
            is_static,
            is_declaration,
            is_listed: false,
            declared,
            value,
            bases,
        });
        self.symbol_bytes.push(at);
        let local = matches!(kind, SymbolKind::Parameter | SymbolKind::Local | SymbolKind::TypeParameter);
        let bound = self.bound.entry((scope, name)).or_insert((id, true));
        *bound = (id, bound.1 && local);
        Some(id)
    }

    /// A symbol that was defined.
    pub(crate) fn symbol(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbols.get(id as usize)
    }

    /// A symbol that was defined, so that its type or value can be completed.
    pub(crate) fn symbol_mut(&mut self, id: SymbolId) -> Option<&mut Symbol> {
        self.symbols.get_mut(id as usize)
    }

    /// The symbol of this name in a scope, the latest first.
    pub(crate) fn find(&self, scope: ScopeId, name: &str) -> Option<SymbolId> {
        let name = self.known(name)?;
        self.bound.get(&(scope, name)).map(|(symbol, _)| *symbol)
    }

    /// Reports an import in the innermost open scope. `at` is the node of the imported name.
    pub(crate) fn import(
        &mut self,
        at: Node<'_>,
        module: &str,
        name: Option<&str>,
        local: Option<&str>,
        exported: Option<&str>,
    ) {
        let what = name.map(|name| self.intern_name(name));
        if let Some(what) = what.map_or(Some(Imported::Module), |name| name.map(Imported::Name)) {
            self.push_import(at, module, what, local, exported);
        }
    }

    /// Reports an import of all public names of a module.
    pub(crate) fn import_all(&mut self, at: Node<'_>, module: &str, exported: bool) {
        self.push_import(at, module, Imported::All, None, exported.then_some("*"));
    }

    fn push_import(
        &mut self,
        at: Node<'_>,
        module: &str,
        what: Imported,
        local: Option<&str>,
        exported: Option<&str>,
    ) {
        if self.imports.len() >= ROWS_MAX {
            self.truncated = true;
            return;
        }
        let Some(module) = self.intern(module) else { return };
        let local = local.and_then(|local| self.intern_name(local));
        let exported = exported.and_then(|exported| self.intern_name(exported));
        let (scope, place) = (self.scope(), Place::default());
        self.imports.push(Import { scope, place, module, what, local, exported });
        self.import_bytes.push(at.start_byte());
    }

    /// Reports that the file exports `value` under a name.
    pub(crate) fn export(&mut self, name: &str, value: ExprId) {
        if self.exports.len() >= ROWS_MAX {
            self.truncated = true;
        } else if let Some(name) = self.intern_name(name) {
            self.exports.push(Export { name, value });
        }
    }

    /// Reports a use of the last name of an expression, which begins at a node. Other expressions than names and members are not
    /// reported.
    pub(crate) fn used(&mut self, kind: UseKind, expr: ExprId, name: Node<'_>) {
        self.used_at(kind, expr, name.start_byte());
    }

    /// As [`used`](Self::used), for a name that begins at a byte of the text and has no node.
    pub(crate) fn used_at(&mut self, kind: UseKind, expr: ExprId, at: usize) {
        self.used_in(self.scope(), kind, expr, at);
    }

    /// As [`used_at`](Self::used_at), in a given scope.
    pub(crate) fn used_in(&mut self, scope: ScopeId, kind: UseKind, expr: ExprId, at: usize) {
        if !matches!(self.arena.expr(expr), Expr::Name(_) | Expr::Member(..)) {
            return;
        }
        if self.uses.len() >= ROWS_MAX {
            self.truncated = true;
            return;
        }
        self.uses.push(Use { kind, scope, expr, place: Place::default() });
        self.use_bytes.push(at);
    }

    /// An expression of the arena.
    pub(crate) fn expr(&self, id: ExprId) -> &Expr {
        self.arena.expr(id)
    }

    /// The number of an expression; equal ones share one.
    pub(crate) fn add(&mut self, expr: Expr) -> ExprId {
        if let Some(known) = self.exprs.get(&expr) {
            return *known;
        }
        if self.arena.exprs.len() >= EXPRS_MAX {
            self.truncated = true;
            return 0;
        }
        if self.arena.exprs.is_empty() {
            // Number 0 is `Unknown`, so that it is there when nothing else fits.
            self.arena.exprs.push(Expr::Unknown);
            self.exprs.insert(Expr::Unknown, 0);
            if expr == Expr::Unknown {
                return 0;
            }
        }
        let id = self.arena.exprs.len() as ExprId;
        self.arena.exprs.push(expr.clone());
        self.exprs.insert(expr, id);
        id
    }

    /// Returns the expression about which nothing is known.
    pub(crate) fn unknown(&mut self) -> ExprId {
        self.add(Expr::Unknown)
    }

    /// The expression that is a name.
    pub(crate) fn name(&mut self, name: &str) -> ExprId {
        match self.intern_name(name) {
            Some(name) => self.add(Expr::Name(name)),
            None => self.unknown(),
        }
    }

    /// The expression that is a member of another.
    pub(crate) fn member(&mut self, of: ExprId, name: &str) -> ExprId {
        match self.intern_name(name) {
            Some(name) => self.add(Expr::Member(of, name)),
            None => self.unknown(),
        }
    }

    /// The number of a name, in the form in which the index has names.
    pub(super) fn intern_name(&mut self, written: &str) -> Option<TextId> {
        match is_plain(written) {
            true => self.intern(written),
            false => self.intern(&self.marks.stored(written)),
        }
    }

    /// The number of a name that occurred.
    pub(super) fn known(&self, written: &str) -> Option<TextId> {
        match is_plain(written) {
            true => self.texts.get(written).copied(),
            false => self.texts.get(&self.marks.stored(written)).copied(),
        }
    }

    /// The number of a text; `None` if it is empty or too long.
    pub(super) fn intern(&mut self, text: &str) -> Option<TextId> {
        if text.is_empty() || text.len() > TEXT_BYTES_MAX {
            return None;
        }
        if let Some(known) = self.texts.get(text) {
            return Some(*known);
        }
        let id = self.arena.texts.len() as TextId;
        // Postgres has no character NUL.
        self.arena.texts.push(text.replace('\0', ""));
        self.texts.insert(text.to_owned(), id);
        Some(id)
    }

    /// The text of a number.
    pub(crate) fn text_of(&self, id: TextId) -> &str {
        self.arena.text(id)
    }
}

/// Checks whether a name is written exactly as it is stored.
fn is_plain(written: &str) -> bool {
    written.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
