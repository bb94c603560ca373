//! Resolves the uses of one file, and finds the members that its methods override.

use languages::symbols::{Body, Expr, Imported, ScopeId, ScopeKind, SymbolId, SymbolKind, Use, UseKind};

use super::reference::{Reference, ReferenceKind, Target};
use super::repository::Repository;
use super::session::Session;
use super::value::{ANYWHERE, At, Found, Type, Value, Wanted};

/// Maximum number of scopes around a use.
const SCOPES_MAX: usize = 400;
/// Maximum number of bases that one scope implements.
const BASES_MAX: usize = 16;

impl Repository {
    /// Resolves the uses of a file, whose other half is `body`. Uses of local names, and of names that are known to be defined
    /// outside of the repository, are left out.
    #[must_use]
    pub fn resolve(&self, file: u32, body: &Body) -> Vec<Reference> {
        references(self, file, body)
    }
}

/// Resolves the references of a file.
fn references(repository: &Repository, file: u32, body: &Body) -> Vec<Reference> {
    let Some(mut session) = Session::new(repository, file, body) else { return Vec::new() };
    let mut references = Vec::new();
    for used in &body.uses {
        session.begin();
        references.extend(session.resolve(used));
    }
    session.resolve_imports(&mut references);
    session.find_overrides(&mut references);
    references.sort_by_key(|reference| (reference.place, reference.kind));
    references.dedup_by_key(|reference| (reference.place, reference.kind));
    references
}

/// Returns the namespace in which a use of a kind looks up its name.
fn wanted(kind: UseKind) -> Wanted {
    match kind {
        UseKind::Call => Wanted::Function,
        UseKind::Type | UseKind::Inherit => Wanted::Type,
        UseKind::Read | UseKind::Write | UseKind::Import => Wanted::Value,
    }
}

/// The outcome of resolving a use.
enum Outcome {
    /// It refers to these.
    Targets(Vec<Target>),
    /// It is known to refer to nothing that counts: a local name, or something outside of the repository.
    Elsewhere,
    /// Only its name is known.
    Named,
}

/// The type that derives from a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deriving {
    /// A type of the file.
    Own(SymbolId),
    /// A type that another file defines, or none of the repository.
    Elsewhere,
    /// It is not known.
    Unknown,
}

impl<'r> Session<'r> {
    fn resolve(&mut self, used: &Use) -> Option<Reference> {
        let at = At { file: self.file, body: true, scope: used.scope, expr: used.expr, place: used.place };
        let (name, of) = match self.expr(at) {
            Expr::Name(name) => (self.text(at, *name), None),
            Expr::Member(of, name) => (self.text(at, *name), Some(*of)),
            _ => return None,
        };
        let mut found = self.find_as(at, None, wanted(used.kind));
        // `new Name()` beside a property of that name.
        let is_variable = |session: &Self, one: &Found| match one {
            Found::Symbol(target, _) => {
                matches!(session.kind(*target), Some(SymbolKind::Field | SymbolKind::Variable))
            }
            _ => false,
        };
        let types_apart = self.rules(self.file).types_apart && of.is_none();
        if used.kind == UseKind::Call && types_apart && found.iter().all(|one| is_variable(self, one)) {
            let types = self.find_as(at, None, Wanted::Type);
            if types.iter().any(|one| matches!(one, Found::Symbol(..))) {
                found = types;
            }
        }
        let targets = match self.outcome(&found, used.kind) {
            Outcome::Targets(targets) if used.kind == UseKind::Call => self.called(targets),
            Outcome::Targets(targets) => targets,
            Outcome::Elsewhere => return None,
            Outcome::Named => Vec::new(),
        };
        let deriving = match used.kind {
            UseKind::Inherit => self.deriving(used, name),
            _ => Deriving::Unknown,
        };
        let source = match deriving {
            Deriving::Own(symbol) => Some(symbol),
            Deriving::Elsewhere => None,
            Deriving::Unknown => self.source(used.scope),
        };
        let derives_elsewhere = deriving == Deriving::Elsewhere;
        let marked = self.rules(self.file).macros_marked;
        let name = name.strip_suffix('!').filter(|_| marked).unwrap_or(name).to_owned();
        Some(Reference {
            kind: ReferenceKind::Use(used.kind),
            place: used.place,
            source,
            derives_elsewhere,
            name,
            targets,
        })
    }

    /// Returns the type that derives from a base by this use of its name. Bases are evaluated outside of the type, or inside; the nth use
    /// of a base's name in a scope belongs to the nth type there that has such a base.
    fn deriving(&mut self, used: &Use, name: &'r str) -> Deriving {
        let at = self.next_base(used.scope, name);
        let derived = self.derived_types();
        if let Some(scope) = derived.get(&(used.scope, name)).and_then(|scopes| scopes.get(at)) {
            return self.own_type(*scope).map_or(Deriving::Elsewhere, Deriving::Own);
        }
        let is_inside = self.scope(self.file, used.scope).is_some_and(|scope| scope.kind == ScopeKind::Type)
            && self.bases_of(used.scope).contains(&name);
        let own = if is_inside { self.own_type(used.scope) } else { None };
        own.map_or(Deriving::Unknown, Deriving::Own)
    }

    /// Returns the type whose members a scope holds, if the file defines it.
    fn own_type(&mut self, scope: ScopeId) -> Option<SymbolId> {
        let of = self.type_of_scope(self.file, scope)?.of?;
        (of.file == self.file).then_some(of.symbol)
    }

    /// Adds to a called type the member that makes it callable by its name, such as `invoke` of a companion in Kotlin.
    fn called(&mut self, mut targets: Vec<Target>) -> Vec<Target> {
        let Some(member) = self.rules(self.file).call_member else { return targets };
        for target in targets.clone() {
            if self.kind(target) == Some(SymbolKind::Type) {
                let members = self.own_members(target, member).into_iter();
                let made: Vec<Target> = members
                    .filter(|member| self.symbol(*member).is_some_and(|(symbol, _)| symbol.is_static))
                    .collect();
                targets.extend(made);
            }
        }
        targets
    }

    fn outcome(&self, found: &[Found], kind: UseKind) -> Outcome {
        let mut targets = Vec::new();
        let mut unknown = false;
        for one in found {
            match one {
                Found::Symbol(target, _) => targets.push(*target),
                Found::Unknown | Found::Value(Value::Unknown) => unknown = true,
                Found::Module(_) | Found::Value(_) => {}
            }
        }
        let count = targets.len();
        targets.retain(|target| !self.is_local(*target));
        if count > 0 && targets.is_empty() {
            return Outcome::Elsewhere;
        }
        targets.sort_unstable();
        targets.dedup();
        self.prefer_variables(&mut targets, kind);
        self.prefer(&mut targets, kind);
        match (targets.is_empty(), unknown) {
            (false, _) => Outcome::Targets(targets),
            (true, true) => Outcome::Named,
            (true, false) => Outcome::Elsewhere,
        }
    }

    /// Prefers fields to methods of the same name for names that are read or written.
    fn prefer_variables(&self, targets: &mut Vec<Target>, kind: UseKind) {
        let variable =
            |target: &Target| matches!(self.kind(*target), Some(SymbolKind::Field | SymbolKind::Variable));
        if matches!(kind, UseKind::Read | UseKind::Write) && targets.iter().any(variable) {
            targets.retain(|target| self.kind(*target) != Some(SymbolKind::Function));
        }
    }

    /// Leaves those of several targets that the kind of use can mean, if there are any.
    fn prefer(&self, targets: &mut Vec<Target>, kind: UseKind) {
        let fits = |target: &Target| match (kind, self.kind(*target)) {
            (UseKind::Type | UseKind::Inherit, Some(kind)) => {
                matches!(kind, SymbolKind::Type | SymbolKind::Alias | SymbolKind::Namespace)
            }
            // A field is called only as the value of an expression of its own.
            (UseKind::Call, Some(SymbolKind::Field | SymbolKind::Variable)) => false,
            (UseKind::Read | UseKind::Write, Some(SymbolKind::Function)) => {
                !self.rules(target.file).namespaces
            }
            (UseKind::Call | UseKind::Read | UseKind::Write, Some(kind)) => kind != SymbolKind::Alias,
            _ => true,
        };
        if targets.len() > 1 && targets.iter().any(fits) {
            targets.retain(fits);
        }
        // An open class is defined in the file that is named after it, and extended elsewhere.
        let paths = &self.repository.paths;
        let is_home = |target: &Target| {
            let stem = super::paths::name(paths.path(target.file)).split('.').next().unwrap_or_default();
            stem.replace('_', "").eq_ignore_ascii_case(self.name_of(*target))
        };
        let is_open = targets.len() > 1 && self.rules(self.file).types_are_packages;
        if is_open && targets.iter().any(is_home) {
            targets.retain(is_home);
        }
    }

    fn is_local(&self, target: Target) -> bool {
        let kind = self.kind(target);
        matches!(kind, Some(SymbolKind::Parameter | SymbolKind::Local | SymbolKind::TypeParameter) | None)
    }

    /// Returns the innermost definition around a scope.
    fn source(&self, mut scope: ScopeId) -> Option<SymbolId> {
        for _ in 0..SCOPES_MAX {
            let row = self.scope(self.file, scope)?;
            let symbol =
                row.symbol.filter(|symbol| !self.is_local(Target { file: self.file, symbol: *symbol }));
            if symbol.is_some() {
                return symbol;
            }
            if scope == 0 || row.parent >= scope {
                return None;
            }
            scope = row.parent;
        }
        None
    }

    /// Adds a reference for each imported name.
    fn resolve_imports(&mut self, references: &mut Vec<Reference>) {
        for body in [false, true] {
            let Some(half) = self.half(self.file, body) else { continue };
            for (number, row) in (0..).zip(half.imports) {
                let Imported::Name(name) = row.what else { continue };
                self.begin();
                let found = self.imported(self.file, body, number);
                if let Outcome::Targets(targets) = self.outcome(&found, UseKind::Import) {
                    let name = half.arena.text(name).to_owned();
                    let (kind, source) = (ReferenceKind::Use(UseKind::Import), self.source(row.scope));
                    let place = row.place;
                    references.push(Reference {
                        kind,
                        place,
                        source,
                        derives_elsewhere: false,
                        name,
                        targets,
                    });
                }
            }
        }
    }

    /// Adds a reference from each method to the member that it overrides in the nearest base that has it.
    fn find_overrides(&mut self, references: &mut Vec<Reference>) {
        let repository = self.repository;
        let scopes = repository.interface(self.file).map_or(0, |(half, _)| half.scopes.len());
        let all = scopes + self.half(self.file, true).map_or(0, |half| half.scopes.len());
        for scope in 0..all as ScopeId {
            let Some(row) = self.scope(self.file, scope) else { continue };
            let names_none = row.symbol.is_none() && row.bases.is_empty();
            let is_left_out = names_none && self.rules(self.file).bases_by_scope;
            // A nameless class inside of a function is not a definition: the function would seem to override what it only creates.
            let is_made = self.is_nameless(self.file, scope) && self.is_in_function(row.parent);
            if row.kind != ScopeKind::Type || is_left_out || is_made {
                continue;
            }
            self.begin();
            let of = self.type_of_scope(self.file, scope);
            let Some((of, target)) = of.and_then(|of| Some((of, of.of?))) else {
                self.find_foreign_overrides(scope, references);
                continue;
            };
            let has_bases = !row.bases.is_empty()
                || self.symbol(target).is_some_and(|(symbol, _)| !symbol.bases.is_empty())
                || row.symbol.is_none();
            if has_bases {
                for symbol in self.all_symbols_in(self.file, scope) {
                    self.begin();
                    let bases = match self.is_nameless(self.file, scope) {
                        true => Value::Instance(of),
                        false => Value::Super(of),
                    };
                    references.extend(self.overridden(bases, symbol));
                }
            }
        }
    }

    /// Adds references from the methods by which a type from elsewhere implements bases: `impl Trait for String`.
    fn find_foreign_overrides(&mut self, scope: ScopeId, references: &mut Vec<Reference>) {
        let Some(row) = self.scope(self.file, scope) else { return };
        let (file, body, place) = (self.file, self.scope_in_body(self.file, scope), ANYWHERE);
        for base in row.bases.iter().take(BASES_MAX) {
            let at = At { file, body, scope: row.parent, expr: *base, place };
            let types = self.evaluate_type(at, None).into_iter();
            let types: Vec<Value> =
                types.filter(|base| matches!(base, Value::Type(Type { of: Some(_), .. }))).collect();
            for base in types {
                for symbol in self.all_symbols_in(self.file, scope) {
                    self.begin();
                    references.extend(self.overridden(base, symbol));
                }
            }
        }
    }

    /// Checks whether a scope is inside of a function. The value of a field is not a function.
    fn is_in_function(&self, mut scope: ScopeId) -> bool {
        for _ in 0..SCOPES_MAX {
            let Some(row) = self.scope(self.file, scope) else { return false };
            let symbol = row.symbol.and_then(|symbol| self.kind(Target { file: self.file, symbol }));
            let is_value = matches!(symbol, Some(SymbolKind::Field | SymbolKind::Variable));
            if row.kind == ScopeKind::Function && !is_value {
                return true;
            }
            if scope == 0 || row.parent >= scope {
                return false;
            }
            scope = row.parent;
        }
        true
    }

    fn overridden(&mut self, bases: Value, method: Target) -> Option<Reference> {
        let (symbol, arena) = self.symbol(method)?;
        let name = arena.text(symbol.name);
        let is_method = symbol.kind == SymbolKind::Function
            || (symbol.kind == SymbolKind::Field && symbol.inside.is_some());
        if !is_method || self.rules(self.file).constructors.contains(&name) {
            return None;
        }
        let found = self.member(bases, name);
        let targets = found.into_iter().filter_map(|one| match one {
            Found::Symbol(target, _) if target != method => Some(target),
            _ => None,
        });
        let targets: Vec<Target> = targets.collect();
        let (kind, place, source) = (ReferenceKind::Override, symbol.place, Some(method.symbol));
        (!targets.is_empty()).then(|| Reference {
            kind,
            place,
            source,
            derives_elsewhere: false,
            name: name.to_owned(),
            targets,
        })
    }
}
