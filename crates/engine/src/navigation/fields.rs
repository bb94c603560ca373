//! Fields that are no definitions of their own: where one of a name is declared, and how often the name is used.

use languages::symbols::{Expr, ScopeId, SymbolKind};

use crate::indexing::{read_body, read_interface};
use crate::search::SymbolName;
use contract::{ErrorCode, Fault, echo};
use navigation::incremental::name_hashes;
use store::symbols::{self, HalvesRow};
use store::{ProjectTx, RepositoryRow};

/// Most files whose symbols are read. Beyond, numbers are lower bounds.
const FILES_MAX: usize = 200;
/// Files whose symbols are read together.
const PAGE_FILES: usize = 16;
/// Most declarations that are told.
const DECLARATIONS_MAX: usize = 3;

/// The fields of a name.
#[derive(Debug, Default)]
pub(super) struct Fields {
    declarations: Vec<Declaration>,
    /// Uses of the name, of whatever it is there.
    uses: usize,
    /// Whether there may be more.
    is_least: bool,
}

/// Where a field is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Declaration {
    path: String,
    line: u32,
    /// Name of its type.
    of: Option<String>,
}

/// The fields of a name in some repositories; `None` if nothing declares one.
pub(super) async fn declared(
    tx: &mut ProjectTx,
    repositories: &[RepositoryRow],
    name: &SymbolName,
) -> Result<Option<Fields>, Fault> {
    let hashes: Vec<i32> = name_hashes(name.simple()).into_iter().map(u32::cast_signed).collect();
    let mut files = Vec::new();
    for repository in repositories {
        files.extend(symbols::mentioning(tx, repository.id, &hashes).await?);
    }
    let mut found = Fields { is_least: files.len() > FILES_MAX, ..Fields::default() };
    files.truncate(FILES_MAX);
    for page in files.chunks(PAGE_FILES) {
        let rows = symbols::halves(tx, page).await?;
        let simple = name.simple().to_owned();
        let reading = tokio::task::spawn_blocking(move || read(&rows, &simple));
        let (declarations, uses) =
            reading.await.map_err(|error| Fault::internal("Reading symbols failed unexpectedly.", error))?;
        found.declarations.extend(declarations);
        found.uses += uses;
    }
    if found.declarations.is_empty() {
        return Ok(None);
    }
    let qualified = name.qualified();
    let of = qualified.rsplit('.').nth(1);
    let is_of = |one: &Declaration| of.is_some() && one.of.as_deref() == of;
    if found.declarations.iter().any(is_of) {
        found.declarations.retain(is_of);
    }
    Ok(Some(found))
}

/// Where files declare a field of a name, and the number of uses of the name in them.
fn read(rows: &[HalvesRow], name: &str) -> (Vec<Declaration>, usize) {
    let (mut declarations, mut uses) = (Vec::new(), 0);
    for row in rows {
        let interface = read_interface(&row.interface);
        let Some(body) = read_body(&row.body, &interface) else { continue };
        let symbols = interface.symbols.iter().map(|symbol| (symbol, &interface.arena));
        let symbols: Vec<_> =
            symbols.chain(body.symbols.iter().map(|symbol| (symbol, &body.arena))).collect();
        let scopes: Vec<_> = interface.scopes.iter().chain(&body.scopes).collect();
        let type_name = |scope: ScopeId| {
            let symbol = scopes.get(scope as usize)?.symbol?;
            symbols.get(symbol as usize).map(|(symbol, arena)| arena.text(symbol.name).to_owned())
        };
        let fields = symbols
            .iter()
            .filter(|(symbol, arena)| symbol.kind == SymbolKind::Field && arena.text(symbol.name) == name);
        declarations.extend(fields.map(|(symbol, _)| Declaration {
            path: row.path.clone(),
            line: symbol.place.line,
            of: type_name(symbol.scope),
        }));
        let is_of_name = |expr: &Expr| match expr {
            Expr::Name(text) | Expr::Member(_, text) => body.arena.text(*text) == name,
            _ => false,
        };
        uses += body.uses.iter().filter(|used| is_of_name(body.arena.expr(used.expr))).count();
    }
    (declarations, uses)
}

impl Fields {
    /// The fault that tells of them.
    pub(super) fn fault(&self, name: &str) -> Fault {
        let shown: Vec<String> = self
            .declarations
            .iter()
            .take(DECLARATIONS_MAX)
            .map(|one| {
                let of = one.of.as_deref().map(|of| format!(" of `{}`", echo(of))).unwrap_or_default();
                format!("`{}:{}`{of}", echo(&one.path), one.line)
            })
            .collect();
        let more = match self.declarations.len().saturating_sub(DECLARATIONS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let least = if self.is_least { "at least " } else { "" };
        let (name, uses) = (echo(name), self.uses);
        let message = format!(
            "`{name}` is a field, declared in {}{more}. Uses of such fields are not followed; the name is used at {least}{uses} places.",
            shown.join(", ")
        );
        let declarations: Vec<_> = self
            .declarations
            .iter()
            .take(DECLARATIONS_MAX)
            .map(|one| serde_json::json!({ "file": one.path, "line": one.line, "type": one.of }))
            .collect();
        Fault::new(ErrorCode::NotFound, message)
            .with_details(serde_json::json!({ "usedName": name, "fields": declarations, "uses": uses }))
            .with_hint(format!("`search` with `uses:{name}` lists the code that uses the name."))
    }
}
