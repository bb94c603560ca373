//! Compares the edges of calls with the SCIP symbols of the same places.

use std::collections::{HashMap, HashSet};

use languages::symbols::{Expr, Place, SymbolKind, UseKind};
use navigation::{Reference, ReferenceKind, Target};

use super::Judged;
use super::oracle::Oracle;
use super::tree::{Source, Sources};

/// Maximum number of lines of details.
const DETAILS_MAX: usize = 4000;

/// Compares all files that SCIP knows.
pub(super) fn judge(
    sources: &Sources,
    resolved: &[Vec<Reference>],
    oracle: &Oracle,
    details: bool,
) -> Judged {
    let judge = Judge { sources, oracle, at_place: places(sources) };
    let mut judged = Judged::default();
    for (number, references) in (0..).zip(resolved) {
        let source = &sources.files[number as usize];
        let forms = forms(source);
        let mut found: HashSet<Place> = HashSet::new();
        for reference in references.iter().filter(|one| one.kind == ReferenceKind::Use(UseKind::Call)) {
            let Some(symbols) = oracle.used[number as usize].get(&reference.place) else { continue };
            if !symbols.iter().any(|symbol| judge.knows(*symbol)) {
                continue;
            }
            let form = forms.get(&reference.place).copied().unwrap_or("other");
            for target in &reference.targets {
                let right = judge.is_right(*target, symbols);
                judged.edges += 1;
                judged.right += usize::from(right);
                let row = judged.forms.entry(form).or_default();
                row[0] += 1;
                row[1] += usize::from(right);
                if right {
                    found.insert(reference.place);
                } else if details && judged.details.len() < DETAILS_MAX {
                    judged.details.push(format!(
                        "wrong {form} {}",
                        judge.said(source, reference.place, symbols, Some(*target))
                    ));
                }
            }
        }
        for (place, symbols) in &oracle.used[number as usize] {
            let Some(is_type) = judge.callee(symbols) else { continue };
            // A method in an object is also a use of the method that it implements.
            if judge.at_place[number as usize].contains_key(place) || !is_called(source, *place) {
                continue;
            }
            let form = forms.get(place).copied().unwrap_or("other");
            let is_found = usize::from(found.contains(place));
            judged.sites += 1;
            judged.found += is_found;
            if !is_type {
                judged.function_sites += 1;
                judged.functions_found += is_found;
            }
            let row = judged.forms.entry(form).or_default();
            row[2] += 1;
            row[3] += is_found;
            if details && is_found == 0 && judged.details.len() < DETAILS_MAX {
                judged.details.push(format!("missing {form} {}", judge.said(source, *place, symbols, None)));
            }
        }
    }
    judged.details.sort();
    judged
}

/// Returns the symbols by place, for each file.
fn places(sources: &Sources) -> Vec<HashMap<Place, Target>> {
    let all = (0..).zip(&sources.files).map(|(file, source)| {
        let symbols = source.symbols.interface.symbols.iter().chain(&source.symbols.body.symbols);
        (0..).zip(symbols).map(|(symbol, row)| (row.place, Target { file, symbol })).collect()
    });
    all.collect()
}

struct Judge<'a> {
    sources: &'a Sources,
    oracle: &'a Oracle,
    at_place: Vec<HashMap<Place, Target>>,
}

impl Judge<'_> {
    /// Returns `true` if the indexer knew what it named. Names of modules that it did not find are local symbols, which are defined nowhere
    /// or where they are imported.
    fn knows(&self, symbol: u32) -> bool {
        let text = self.oracle.names[symbol as usize].as_str();
        let defined = |(file, place): &(u32, Place)| {
            let symbols = &self.sources.files[*file as usize].symbols;
            !symbols
                .interface
                .imports
                .iter()
                .chain(&symbols.body.imports)
                .any(|import| import.place == *place)
        };
        !text.starts_with("local ") || self.oracle.definitions[symbol as usize].iter().any(defined)
    }

    /// Returns `true` if SCIP names the same definition by one of the symbols.
    fn is_right(&self, target: Target, symbols: &[u32]) -> bool {
        symbols.iter().any(|symbol| self.is_same(target, *symbol)) || {
            // An implementation of what SCIP names.
            let own = self.sources.symbol(target).map(|(symbol, _)| symbol.place).unwrap_or_default();
            let own = self.oracle.defined[target.file as usize].get(&own);
            let implemented =
                own.into_iter().flatten().filter_map(|own| self.oracle.implemented.get(own)).flatten();
            implemented.into_iter().any(|implemented| symbols.contains(implemented))
        }
    }

    fn is_same(&self, target: Target, symbol: u32) -> bool {
        let Some((own, name)) = self.sources.symbol(target) else { return false };
        self.oracle.definitions[symbol as usize].iter().any(|(file, place)| {
            if *file == target.file && *place == own.place {
                return true;
            }
            let Some(defined) = self.at_place[*file as usize].get(place) else { return false };
            let Some((other, other_name)) = self.sources.symbol(*defined) else { return false };
            // Overloads, and the other definitions of one name in a scope, count as one; a constructor as its type.
            let same_scope = *file == target.file && other.scope == own.scope && other_name == name;
            let of_type =
                other.kind == SymbolKind::Constructor || matches!(other_name, "__init__" | "__new__");
            let constructs = *file == target.file && of_type && own.inside == Some(other.scope);
            same_scope || constructs || (other_name == name && self.extends(target, *defined))
        })
    }

    /// Returns `true` if both are members of one type that is written in several places.
    fn extends(&self, a: Target, b: Target) -> bool {
        let name = |target: Target| {
            let file = self.sources.files.get(target.file as usize)?;
            let (symbol, _) = self.sources.symbol(target)?;
            let scopes = &file.symbols.interface.scopes;
            let scope = scopes.get(symbol.scope as usize)?;
            let arena = &file.symbols.interface.arena;
            match (scope.symbol, scope.target) {
                (Some(owner), _) => {
                    self.sources.symbol(Target { symbol: owner, ..target }).map(|(_, name)| name.to_owned())
                }
                (None, Some(of)) => match arena.expr(of) {
                    Expr::Name(name) => Some(arena.text(*name).to_owned()),
                    _ => None,
                },
                _ => None,
            }
        };
        let is_declaration =
            |target| self.sources.symbol(target).is_some_and(|(symbol, _)| symbol.is_declaration);
        (is_declaration(a) || is_declaration(b)) && (name(a) == name(b))
    }

    /// Returns whether the callee is a type; `None` if it is not in the repository.
    fn callee(&self, symbols: &[u32]) -> Option<bool> {
        for symbol in symbols {
            let text = self.oracle.names[*symbol as usize].as_str();
            for (file, place) in &self.oracle.definitions[*symbol as usize] {
                let own =
                    self.at_place[*file as usize].get(place).and_then(|target| self.sources.symbol(*target));
                let kind = own.map(|(symbol, _)| symbol.kind);
                if text.ends_with('#') || kind == Some(SymbolKind::Type) || text.contains("`<constructor>`") {
                    return Some(true);
                }
                let is_function = matches!(kind, Some(SymbolKind::Function | SymbolKind::Constructor));
                if is_function || text.ends_with(").") {
                    return Some(false);
                }
            }
        }
        None
    }

    fn said(&self, source: &Source, place: Place, symbols: &[u32], target: Option<Target>) -> String {
        let line = source.text.lines().nth(place.line as usize - 1).unwrap_or_default().trim();
        let names: Vec<&str> =
            symbols.iter().map(|symbol| self.oracle.names[*symbol as usize].as_str()).collect();
        let target = target.map_or_else(String::new, |target| {
            let file = &self.sources.files[target.file as usize].path;
            let (symbol, name) = match self.sources.symbol(target) {
                Some((symbol, name)) => (symbol.place.line, name),
                None => (0, ""),
            };
            format!(" said {file}:{symbol} {name}")
        });
        let cut: String = line.chars().take(100).collect();
        format!("{}:{}:{} {cut} | {}{target}", source.path, place.line, place.column, names.join(" "))
    }
}

/// The form of the expression at each place that is called.
fn forms(source: &Source) -> HashMap<Place, &'static str> {
    let body = &source.symbols.body;
    let uses = body.uses.iter().filter(|used| used.kind == UseKind::Call);
    let form = |expr: u32| match body.arena.expr(expr) {
        Expr::Name(_) => "name",
        Expr::Member(of, _) => match body.arena.expr(*of) {
            Expr::Name(name) if matches!(body.arena.text(*name), "self" | "cls" | "this") => "this.member",
            Expr::Name(_) => "name.member",
            Expr::This | Expr::ThisType => "this.member",
            Expr::Super => "super.member",
            Expr::Call(_) | Expr::Instance(_) => "call.member",
            Expr::Member(..) => "member.member",
            _ => "other.member",
        },
        _ => "other",
    };
    uses.map(|used| (used.place, form(used.expr))).collect()
}

/// Checks whether the name at a place is called: a bracket or a template follows, possibly after type arguments.
fn is_called(source: &Source, place: Place) -> bool {
    let Some(line) = source.text.lines().nth(place.line as usize - 1) else { return false };
    let name: String = line.chars().skip(place.column as usize - 1).collect();
    let rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#'));
    let mut rest = rest.trim_start().trim_start_matches("?.").trim_start_matches('!');
    if rest.starts_with('<') || rest.starts_with("::<") {
        let mut depth = 0;
        let mut end = None;
        for (at, c) in rest.char_indices() {
            match c {
                '<' => depth += 1,
                '>' if !rest[..at].ends_with('=') => depth -= 1,
                _ => {}
            }
            if depth == 0 && c == '>' {
                end = Some(at + 1);
                break;
            }
        }
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    rest.starts_with('(') || rest.starts_with('`')
}
