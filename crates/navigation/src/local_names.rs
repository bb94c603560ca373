//! Local names whose meaning changes from a place on: each hides earlier ones and is seen only behind its definition, or a parameter is
//! assigned again.

use languages::symbols::{Place, ScopeId, SymbolKind};

use super::reference::Target;
use super::session::Session;
use super::value::Found;

impl<'r> Session<'r> {
    /// Returns what is bound in a function or block before a place: the last local name, or else anything that is not a local name.
    pub(crate) fn name_before(
        &mut self,
        file: u32,
        scope: ScopeId,
        place: Place,
        name: &'r str,
    ) -> Vec<Found> {
        let local = |session: &Self, target: &Target| {
            let (symbol, _) = session.symbol(*target)?;
            matches!(symbol.kind, SymbolKind::Local | SymbolKind::Parameter).then_some(symbol.place)
        };
        let symbols = self.symbols_in(file, scope, name);
        let last = symbols
            .iter()
            .filter_map(|target| Some((local(self, target).filter(|at| *at < place)?, *target)))
            .max();
        if let Some((_, last)) = last {
            return vec![Found::Symbol(last, None)];
        }
        let others = symbols.into_iter().filter(|target| local(self, target).is_none()).collect();
        let mut found = self.defined(others, None);
        for (body, import) in self.imports_in(file, scope, name) {
            found.extend(self.imported(file, body, import));
        }
        found
    }

    /// Chooses between a parameter and the local name that it becomes where it is assigned. The assigned expression itself still sees the
    /// parameter.
    pub(crate) fn parameter_or_local(&self, mut found: Vec<Found>, place: Place) -> Vec<Found> {
        let kind = |one: &Found| match one {
            Found::Symbol(target, _) => self.kind(*target),
            _ => None,
        };
        let assigned = found.iter().find(|one| kind(one) == Some(SymbolKind::Local));
        let assigned = assigned.and_then(|one| match one {
            Found::Symbol(target, _) => self.symbol(*target).map(|(symbol, _)| symbol.place),
            _ => None,
        });
        let has_parameter = found.iter().any(|one| kind(one) == Some(SymbolKind::Parameter));
        if let Some(assigned) = assigned.filter(|_| has_parameter) {
            let other = if place <= assigned { SymbolKind::Local } else { SymbolKind::Parameter };
            found.retain(|one| kind(one) != Some(other));
        }
        found
    }
}
