//! Groups definitions to symbols.

use std::collections::BTreeMap;

use store::navigation::DefinitionAt;

/// Kinds of definitions that have members.
pub(super) const TYPES: [&str; 8] =
    ["class", "struct", "interface", "trait", "enum", "type", "object", "module"];

/// A symbol: its definitions. Several definitions of one name in one place, such as overloads, count as one symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) definitions: Vec<DefinitionAt>,
}

impl Target {
    /// Returns the ids of the symbol's definitions.
    pub(super) fn symbols(&self) -> Vec<i64> {
        self.definitions.iter().filter_map(|definition| definition.symbol).collect()
    }

    /// Returns the first definition; there is always one.
    pub(super) fn first(&self) -> Option<&DefinitionAt> {
        self.definitions.first()
    }
}

/// Groups definitions to symbols: those of one qualified name in one file are one, and a declaration in a header of C or C++ is one with
/// the definition in the only file that defines it. Keeps the order.
pub(super) fn grouped(definitions: Vec<DefinitionAt>) -> Vec<Target> {
    let mut places: BTreeMap<(i64, String), usize> = BTreeMap::new();
    let mut targets: Vec<Target> = Vec::new();
    for definition in definitions {
        let key = (definition.file_id, definition.qualified.clone());
        let at = *places.entry(key).or_insert(targets.len());
        match targets.get_mut(at) {
            Some(target) => target.definitions.push(definition),
            None => targets.push(Target { definitions: vec![definition] }),
        }
    }
    with_declarations(targets)
}

/// Joins declarations in headers with their definition, if it is clear which one that is.
fn with_declarations(targets: Vec<Target>) -> Vec<Target> {
    type Key = (i64, Vec<String>);
    let key = |target: &Target| -> Option<(Key, bool)> {
        let first = target.first().filter(|row| has_declarations(row))?;
        let parts = first.qualified.split(['.', ':']).filter(|part| !part.is_empty());
        Some(((first.repository_id, parts.map(str::to_owned).collect()), is_header(&first.path)))
    };
    let mut sources: BTreeMap<Key, usize> = BTreeMap::new();
    for (key, in_header) in targets.iter().filter_map(key) {
        *sources.entry(key).or_default() += usize::from(!in_header);
    }
    let mut joined: Vec<Target> = Vec::with_capacity(targets.len());
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    for target in targets {
        let Some((key, _)) = key(&target).filter(|(key, _)| sources.get(key) == Some(&1)) else {
            joined.push(target);
            continue;
        };
        let at = *places.entry(key).or_insert(joined.len());
        match joined.get_mut(at) {
            Some(one) => one.definitions.extend(target.definitions),
            None => joined.push(target),
        }
    }
    // The definition represents the symbol, not its declarations.
    for target in &mut joined {
        target.definitions.sort_by_key(|row| has_declarations(row) && is_header(&row.path));
    }
    joined
}

/// Returns whether a definition may be declared in a different file from the one that defines it.
pub(super) fn has_declarations(definition: &DefinitionAt) -> bool {
    let is_c = matches!(definition.language.as_deref(), Some("c" | "cpp"));
    is_c && matches!(definition.kind.as_str(), "function" | "method" | "constructor" | "variable")
}

fn is_header(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("h" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp"))
}
