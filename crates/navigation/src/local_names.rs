//! Local names in languages in which each hides earlier ones, and is seen only behind its definition.

use languages::symbols::{Place, ScopeId, SymbolKind};

use super::reference::Target;
use super::session::Session;
use super::value::Found;

impl<'r> Session<'r> {
    /// What is bound in a function or block before a place: the last local name, or else what is no local name.
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
}
