//! Fields that are not definitions of their own: their declarations, and the number of uses of their names.
//!
//! They have no rows, because there would be one for every field and every access to it. They are read on request, from the stored symbols
//! of files.

use std::collections::HashMap;

use languages::nfc;
use languages::symbols::{Arena, Body, Expr, Interface, Scope, ScopeId, Symbol, SymbolKind};

use crate::indexing::{read_body, read_interface};
use crate::search::{SymbolName, filter_text};
use ::navigation::incremental::name_hashes;
use contract::{ErrorCode, Fault, echo};
use store::navigation::{self, DefinitionAt};
use store::symbols::{self, HalvesRow};
use store::{ProjectTx, RepositoryRow};

/// Maximum number of files whose symbols are read. If there are more, numbers are lower bounds.
const FILES_MAX: usize = 200;
/// Files whose symbols are read together.
const PAGE_FILES: usize = 16;
/// Maximum number of declarations that a fault lists.
const DECLARATIONS_MAX: usize = 3;
/// Maximum number of declarations whose lines are read.
const LINES_MAX: usize = 100;
/// Kind of fields in answers.
const FIELD: &str = "field";

/// The fields of a name.
#[derive(Debug, Default)]
pub(super) struct Fields {
    declarations: Vec<Declaration>,
    /// Uses of the name, whatever it refers to.
    uses: usize,
    /// `true` if there may be more.
    pub(super) is_least: bool,
}

/// A field where it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Declaration {
    /// The field as a definition, without a symbol.
    row: DefinitionAt,
    /// Name of its type.
    of: Option<String>,
}

/// Selection of fields.
#[derive(Debug, Clone)]
enum Wanted {
    /// Fields with this name.
    Name(String),
    /// Fields whose names are at a place.
    Place { line: u32, column: Option<u32> },
}

impl Wanted {
    fn is_met(&self, symbol: &Symbol, name: &str) -> bool {
        let is_there = |line: u32, column: Option<u32>| {
            let (from, width) =
                (symbol.place.column, u32::try_from(name.chars().count()).unwrap_or(u32::MAX));
            symbol.place.line == line && column.is_none_or(|column| from <= column && column - from < width)
        };
        // A listed symbol is a definition.
        symbol.kind == SymbolKind::Field
            && !symbol.is_listed
            && match self {
                Self::Name(wanted) => wanted == name,
                Self::Place { line, column } => is_there(*line, *column),
            }
    }
}

/// Returns the fields of a name in some repositories; `None` if nothing declares one.
pub(super) async fn declared(
    tx: &mut ProjectTx,
    repositories: &[RepositoryRow],
    name: &str,
) -> Result<Option<Fields>, Fault> {
    let hashes: Vec<i32> = name_hashes(name).into_iter().map(u32::cast_signed).collect();
    let mut files = Vec::new();
    for repository in repositories {
        files.extend(symbols::mentioning(tx, repository.id, &hashes).await?);
    }
    let mut found = Fields { is_least: files.len() > FILES_MAX, ..Fields::default() };
    files.truncate(FILES_MAX);
    for page in files.chunks(PAGE_FILES) {
        let (declarations, uses) = read(tx, page, Wanted::Name(name.to_owned())).await?;
        found.declarations.extend(declarations);
        found.uses += uses;
    }
    let place = |one: &Declaration| (one.row.repository_id, one.row.path.clone(), one.row.line);
    found.declarations.sort_by_cached_key(place);
    Ok((!found.declarations.is_empty()).then_some(found))
}

/// Returns the fields whose names are in a line of a file, or at a column of it.
pub(super) async fn in_line(
    tx: &mut ProjectTx,
    file_id: i64,
    line: u32,
    column: Option<u32>,
) -> Result<Vec<DefinitionAt>, Fault> {
    let (declarations, _) = read(tx, &[file_id], Wanted::Place { line, column }).await?;
    Ok(declarations.into_iter().map(|one| one.row).collect())
}

/// Sets the line of each field as its signature.
pub(super) async fn read_lines(tx: &mut ProjectTx, fields: &mut [DefinitionAt]) -> Result<(), Fault> {
    let places: Vec<(i64, i32)> = fields.iter().take(LINES_MAX).map(|row| (row.file_id, row.line)).collect();
    let lines = navigation::lines_of(tx, &places).await?;
    let lines: HashMap<(i64, i32), String> =
        lines.into_iter().map(|(file, line, text)| ((file, line), text.trim().to_owned())).collect();
    for row in fields {
        row.signature = lines.get(&(row.file_id, row.line)).cloned();
    }
    Ok(())
}

/// Returns the wanted fields of files and, if those of a name are wanted, the number of its uses.
async fn read(tx: &mut ProjectTx, files: &[i64], wanted: Wanted) -> Result<(Vec<Declaration>, usize), Fault> {
    let rows = symbols::halves(tx, files).await?;
    let reading = platform::task::spawn_blocking(move || {
        let (mut declarations, mut uses) = (Vec::new(), 0);
        for row in &rows {
            let interface = read_interface(&row.interface);
            let Some(body) = read_body(&row.body, &interface) else { continue };
            declarations.extend(declarations_in(row, &interface, &body, &wanted));
            if let Wanted::Name(name) = &wanted {
                uses += uses_in(&body, name);
            }
        }
        (declarations, uses)
    });
    reading.await.map_err(|error| Fault::internal("Reading symbols failed unexpectedly.", error))
}

fn declarations_in(row: &HalvesRow, interface: &Interface, body: &Body, wanted: &Wanted) -> Vec<Declaration> {
    let own = interface.symbols.iter().map(|symbol| (symbol, &interface.arena));
    let symbols: Vec<(&Symbol, &Arena)> =
        own.chain(body.symbols.iter().map(|symbol| (symbol, &body.arena))).collect();
    let scopes: Vec<&Scope> = interface.scopes.iter().chain(&body.scopes).collect();
    let name_of = |scope: &Scope| {
        let (symbol, arena) = symbols.get(scope.symbol? as usize)?;
        Some(arena.text(symbol.name))
    };
    let separator = languages::by_name(&row.language).map_or(".", |language| language.separator);
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let mut declarations = Vec::new();
    for (symbol, arena) in &symbols {
        let name = arena.text(symbol.name);
        if !wanted.is_met(symbol, name) {
            continue;
        }
        let mut names: Vec<&str> = scopes_around(&scopes, symbol.scope).filter_map(name_of).collect();
        names.reverse();
        names.push(name);
        let line = number(symbol.place.line);
        let row = DefinitionAt {
            file_id: row.file_id,
            repository_id: row.repository_id,
            path: row.path.clone(),
            language: Some(row.language.clone()),
            name: name.to_owned(),
            qualified: names.join(separator),
            kind: FIELD.to_owned(),
            line,
            column: number(symbol.place.column),
            start_line: line,
            end_line: line,
            exported: Some(symbol.exported),
            ..DefinitionAt::default()
        };
        let of = scopes.get(symbol.scope as usize).and_then(|scope| name_of(scope)).map(str::to_owned);
        declarations.push(Declaration { row, of });
    }
    declarations
}

/// Returns a scope and those around it, the inner ones first.
fn scopes_around<'s>(scopes: &'s [&'s Scope], scope: ScopeId) -> impl Iterator<Item = &'s Scope> {
    let mut next = Some(scope);
    std::iter::from_fn(move || {
        let at = next?;
        let scope = *scopes.get(at as usize)?;
        // The file is its own parent.
        next = (scope.parent < at).then_some(scope.parent);
        Some(scope)
    })
}

/// Returns the number of uses of a name.
fn uses_in(body: &Body, name: &str) -> usize {
    let is_of_name = |expr: &Expr| match expr {
        Expr::Name(text) | Expr::Member(_, text) => body.arena.text(*text) == name,
        _ => false,
    };
    body.uses.iter().filter(|used| is_of_name(body.arena.expr(used.expr))).count()
}

impl Fields {
    /// Returns the fields that a name with containers means, in the files with these paths, or ends of paths, and in a line.
    pub(super) fn named(&self, name: &SymbolName, paths: &[&str], line: Option<u32>) -> Vec<DefinitionAt> {
        let is_in = |row: &DefinitionAt| {
            let is_path = |path: &&str| {
                let folder = nfc(&row.path).strip_suffix(&*nfc(path)).map(str::to_owned);
                folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
            };
            paths.iter().all(is_path) && line.is_none_or(|line| super::navigator::line(row.line) == line)
        };
        let rows = self.declarations.iter().map(|one| &one.row);
        let fitting: Vec<&DefinitionAt> = rows.filter(|row| is_in(row) && name.is_name_of(row)).collect();
        let best = fitting.iter().map(|row| name.fit(row)).max();
        fitting.into_iter().filter(|row| Some(name.fit(row)) == best).cloned().collect()
    }

    /// Returns whether one of them has the name in this spelling, whatever type it belongs to.
    pub(super) fn have_spelling(&self, name: &SymbolName) -> bool {
        self.declarations.iter().any(|one| name.is_spelling_of(&one.row))
    }

    /// Returns all fields.
    pub(super) fn into_rows(self) -> Vec<DefinitionAt> {
        self.declarations.into_iter().map(|one| one.row).collect()
    }

    /// Returns the fault that lists the fields of the type that the name contains, or all if there is no such type.
    pub(super) fn fault(&self, name: &SymbolName) -> Fault {
        let qualified = name.qualified();
        let of = qualified.rsplit('.').nth(1);
        let is_of = |one: &&Declaration| of.is_some() && one.of.as_deref() == of;
        let meant: Vec<&Declaration> = self.declarations.iter().filter(is_of).collect();
        match meant.is_empty() {
            true => self.fault_of(name.simple()),
            false => self.fault_about(name.simple(), &meant),
        }
    }

    /// Returns the fault that lists all fields.
    pub(super) fn fault_of(&self, name: &str) -> Fault {
        let all: Vec<&Declaration> = self.declarations.iter().collect();
        self.fault_about(name, &all)
    }

    fn fault_about(&self, name: &str, declarations: &[&Declaration]) -> Fault {
        let shown: Vec<String> = declarations
            .iter()
            .take(DECLARATIONS_MAX)
            .map(|one| {
                let of = one.of.as_deref().map(|of| format!(" of `{}`", echo(of))).unwrap_or_default();
                format!("`{}:{}`{of}", echo(&one.row.path), one.row.line)
            })
            .collect();
        let more = match declarations.len().saturating_sub(DECLARATIONS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let least = if self.is_least { "at least " } else { "" };
        // The name as declared, which may be another spelling of the requested one.
        let declared = declarations.first().map_or(name, |one| one.row.name.as_str());
        let (name, uses) = (echo(declared), self.uses);
        let message = format!(
            "`{name}` is a field, declared in {}{more}. Uses of such fields are not followed; the name is used at {least}{uses} places.",
            shown.join(", ")
        );
        let declarations: Vec<_> = declarations
            .iter()
            .take(DECLARATIONS_MAX)
            .map(|one| serde_json::json!({ "file": one.row.path, "line": one.row.line, "type": one.of }))
            .collect();
        Fault::new(ErrorCode::NotFound, message)
            .with_details(serde_json::json!({ "usedName": name, "fields": declarations, "uses": uses }))
            .with_hint(format!(
                "`definition` answers the place; `search` with `{}` lists the code that uses the name.",
                filter_text("uses", &name)
            ))
    }
}
