//! Divides the symbols of a file into the two halves of [`FileSymbols`].

use std::collections::HashMap;

use super::builder::Builder;
use super::table::{
    Arena, Body, Export, Expr, ExprId, FileSymbols, Import, Imported, Interface, Place, Scope, ScopeId,
    ScopeKind, Symbol, SymbolId, TextId, Use, UseKind, parts,
};
use crate::stop::Stopped;

impl Builder<'_> {
    /// Divides the collected symbols into the two halves.
    ///
    /// # Errors
    /// [`Stopped`] if the time limit passed or the work was cancelled.
    pub(crate) fn finish(mut self) -> Result<FileSymbols, Stopped> {
        if self.stopped {
            return Err(Stopped);
        }
        self.drop_local_uses()?;
        self.place()?;
        let seen = self.seen_outside();
        let mut numbers = Vec::with_capacity(self.scopes.len());
        let (mut outer, mut inner) = (0, seen.iter().filter(|seen| **seen).count() as ScopeId);
        for seen in &seen {
            let next = if *seen { &mut outer } else { &mut inner };
            numbers.push(*next);
            *next += 1;
        }
        Ok(self.divide(&seen, &numbers))
    }

    /// Drops uses of bare names that are parameters or local names, which refer to nothing that counts.
    fn drop_local_uses(&mut self) -> Result<(), Stopped> {
        for import in &self.imports {
            if let Some(local) = import.local {
                self.bound.entry((import.scope, local)).or_insert((0, false)).1 = false;
            }
        }
        let mut kept = Vec::with_capacity(self.uses.len());
        let mut decided: HashMap<(ScopeId, TextId), bool> = HashMap::new();
        for used in &self.uses {
            let apart = self.functions_apart && used.kind == UseKind::Call;
            let name = match *self.arena.expr(used.expr) {
                Expr::Name(name) if !apart => name,
                _ => {
                    kept.push(true);
                    continue;
                }
            };
            let mut scope = used.scope;
            let mut climbed = Vec::new();
            let local = loop {
                if let Some(known) = decided.get(&(scope, name)) {
                    break *known;
                }
                climbed.push(scope);
                let row = &self.scopes[scope as usize];
                if let Some((_, local)) = self.bound.get(&(scope, name)) {
                    break *local;
                }
                if scope == 0 {
                    break false;
                }
                scope = row.parent;
            };
            self.stop.step(1 + climbed.len())?;
            decided.extend(climbed.into_iter().map(|scope| ((scope, name), local)));
            kept.push(!local);
        }
        let mut keeps = kept.iter();
        self.uses.retain(|_| keeps.next().is_none_or(|keep| *keep));
        let mut keeps = kept.iter();
        self.use_bytes.retain(|_| keeps.next().is_none_or(|keep| *keep));
        Ok(())
    }

    /// Returns for each scope whether it belongs to the interface: it is neither a function or a block, nor inside one.
    fn seen_outside(&self) -> Vec<bool> {
        let mut seen: Vec<bool> = Vec::with_capacity(self.scopes.len());
        for (at, scope) in self.scopes.iter().enumerate() {
            let around = at == 0 || seen[scope.parent as usize];
            seen.push(around && !matches!(scope.kind, ScopeKind::Function | ScopeKind::Block));
        }
        seen
    }

    fn divide(mut self, seen: &[bool], scope_numbers: &[ScopeId]) -> FileSymbols {
        let outer_symbols =
            self.symbols.iter().filter(|symbol| seen[symbol.scope as usize]).count() as SymbolId;
        let mut symbol_numbers = Vec::with_capacity(self.symbols.len());
        let (mut outer, mut inner) = (0, outer_symbols);
        for symbol in &self.symbols {
            let next = if seen[symbol.scope as usize] { &mut outer } else { &mut inner };
            symbol_numbers.push(*next);
            *next += 1;
        }
        let mut interface = Interface { package: self.package.take(), ..Interface::default() };
        let mut body = Body::default();
        let (mut to_interface, mut to_body) = (Copying::new(&self.arena), Copying::new(&self.arena));
        for (at, scope) in self.scopes.iter().enumerate() {
            let (scopes, copying) = match seen[at] {
                true => (&mut interface.scopes, &mut to_interface),
                false => (&mut body.scopes, &mut to_body),
            };
            scopes.push(Scope {
                parent: scope_numbers[scope.parent as usize],
                kind: scope.kind,
                symbol: scope.symbol.map(|symbol| symbol_numbers[symbol as usize]),
                target: scope.target.map(|target| copying.expr(target)),
                bases: scope.bases.iter().map(|base| copying.expr(*base)).collect(),
            });
        }
        for symbol in &self.symbols {
            let (symbols, copying) = match seen[symbol.scope as usize] {
                true => (&mut interface.symbols, &mut to_interface),
                false => (&mut body.symbols, &mut to_body),
            };
            symbols.push(Symbol {
                name: copying.text(symbol.name),
                scope: scope_numbers[symbol.scope as usize],
                inside: symbol.inside.map(|inside| scope_numbers[inside as usize]),
                declared: symbol.declared.map(|declared| copying.expr(declared)),
                value: symbol.value.map(|value| copying.expr(value)),
                bases: symbol.bases.iter().map(|base| copying.expr(*base)).collect(),
                ..*symbol
            });
        }
        for import in &self.imports {
            let (imports, copying) = match seen[import.scope as usize] {
                true => (&mut interface.imports, &mut to_interface),
                false => (&mut body.imports, &mut to_body),
            };
            imports.push(Import {
                scope: scope_numbers[import.scope as usize],
                place: import.place,
                module: copying.text(import.module),
                what: match import.what {
                    Imported::Name(name) => Imported::Name(copying.text(name)),
                    what => what,
                },
                local: import.local.map(|local| copying.text(local)),
                exported: import.exported.map(|exported| copying.text(exported)),
            });
        }
        for export in &self.exports {
            let name = to_interface.text(export.name);
            interface.exports.push(Export { name, value: to_interface.expr(export.value) });
        }
        for used in &self.uses {
            let (scope, expr) = (scope_numbers[used.scope as usize], to_body.expr(used.expr));
            body.uses.push(Use { scope, expr, ..used.clone() });
        }
        body.uses.sort_by_key(|used| (used.place, used.kind));
        body.uses.dedup();
        (interface.arena, body.arena) = (to_interface.arena, to_body.arena);
        FileSymbols { interface, body, truncated: self.truncated }
    }

    /// Sets all places, in one pass over the text.
    fn place(&mut self) -> Result<(), Stopped> {
        let mut places: Vec<(usize, &mut Place)> = Vec::new();
        places
            .extend(self.symbol_bytes.iter().copied().zip(self.symbols.iter_mut().map(|row| &mut row.place)));
        places
            .extend(self.import_bytes.iter().copied().zip(self.imports.iter_mut().map(|row| &mut row.place)));
        places.extend(self.use_bytes.iter().copied().zip(self.uses.iter_mut().map(|row| &mut row.place)));
        places.sort_by_key(|(at, _)| *at);
        let (mut line, mut column, mut from) = (1, 1, 0);
        for (at, place) in places {
            self.stop.step(1 + at - from)?;
            for c in self.text.get(from..at).unwrap_or_default().chars() {
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            from = at;
            *place = Place { line, column };
        }
        Ok(())
    }
}

/// Copies expressions and texts to the arena of one half.
struct Copying<'a> {
    from: &'a Arena,
    arena: Arena,
    texts: HashMap<TextId, TextId>,
    exprs: HashMap<ExprId, ExprId>,
}

impl<'a> Copying<'a> {
    fn new(from: &'a Arena) -> Self {
        Self { from, arena: Arena::default(), texts: HashMap::new(), exprs: HashMap::new() }
    }

    fn text(&mut self, id: TextId) -> TextId {
        if let Some(known) = self.texts.get(&id) {
            return *known;
        }
        let new = self.arena.texts.len() as TextId;
        self.arena.texts.push(self.from.text(id).to_owned());
        self.texts.insert(id, new);
        new
    }

    /// Copies an expression and its parts. Parts have smaller numbers, so a list of the pending ones suffices, without recursion.
    fn expr(&mut self, id: ExprId) -> ExprId {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if self.exprs.contains_key(&next) {
                open.pop();
                continue;
            }
            let missing: Vec<ExprId> = parts(self.from.expr(next))
                .into_iter()
                .filter(|part| !self.exprs.contains_key(part))
                .collect();
            if missing.is_empty() {
                let copy = self.copy(next);
                let new = self.arena.exprs.len() as ExprId;
                self.arena.exprs.push(copy);
                self.exprs.insert(next, new);
                open.pop();
            } else {
                open.extend(missing);
            }
        }
        self.exprs.get(&id).copied().unwrap_or(0)
    }

    fn copy(&mut self, id: ExprId) -> Expr {
        match self.from.expr(id) {
            Expr::Name(name) => Expr::Name(self.text(*name)),
            Expr::Member(of, name) => Expr::Member(self.known(*of), self.text(*name)),
            Expr::Call(of) => Expr::Call(self.known(*of)),
            Expr::Instance(of) => Expr::Instance(self.known(*of)),
            Expr::Inside(of) => Expr::Inside(self.known(*of)),
            Expr::Given(of, number) => Expr::Given(self.known(*of), *number),
            Expr::Apply(of, arguments) => Expr::Apply(self.known(*of), self.all_known(arguments)),
            Expr::Either(all) => Expr::Either(self.all_known(all)),
            other @ (Expr::Unknown | Expr::This | Expr::ThisType | Expr::Super) => other.clone(),
        }
    }

    fn known(&self, part: ExprId) -> ExprId {
        self.exprs.get(&part).copied().unwrap_or(0)
    }

    fn all_known(&self, parts: &[ExprId]) -> Vec<ExprId> {
        parts.iter().map(|part| self.known(*part)).collect()
    }
}
