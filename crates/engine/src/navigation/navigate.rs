//! Runs a navigation in one read transaction.

use std::collections::BTreeMap;

use super::answer::SymbolInfo;
use super::find::{CANDIDATES_MAX, Finder, Found};
use super::grouping::Target;
use super::navigator::{Navigation, Navigator};
use super::request::{Certainty, NavigationRequest, Relation};
use super::{callees, gaps, places, steps};
use crate::search::{filter_text, warn_of_newer};
use ::navigation::incremental::RESOLVER_VERSION;
use contract::clock::Clock;
use contract::{ErrorCode, Fault, Warning, echo};
use store::navigation;
use store::{Access, Project, ProjectTx, RepositoryState, Store, repositories, use_places};

/// Limit, in sources, to which the uses of a shown candidate are counted. To order the candidates, fewer sources of each are counted, in
/// total `POPULARITY_SUM_MAX`.
const POPULARITY_MAX: i64 = 1000;
const POPULARITY_SUM_MAX: i64 = 20_000;

/// Answers a question about a symbol of a project.
///
/// # Errors
/// `NO_INDEX` if none of the repositories has been indexed; `NOT_FOUND` for a name without a definition, or an unknown file;
/// `INVALID_REQUEST` for text that is neither a name nor a place; storage faults.
pub async fn navigate(
    store: &Store,
    project: &Project,
    clock: &dyn Clock,
    request: &NavigationRequest,
) -> Result<Navigation, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let mut known = repositories::list(&mut tx).await?;
    known.retain(|row| {
        !row.is_records()
            && (request.repository_roots.is_empty() || request.repository_roots.contains(&row.root))
    });
    if known
        .iter()
        .all(|row| row.state == RepositoryState::New && row.indexed_ms.is_none() && row.chunks == 0)
    {
        return Err(Fault::new(ErrorCode::NoIndex, "Nothing has been indexed here yet.")
            .with_hint("Index the repository first: `build_index`, or `pairofcleats index PATH`."));
    }
    let mut navigator = Navigator { tx: &mut tx, repositories: &known, request, clock };
    let found = navigator.answer().await?;
    // Nothing was written, so the caller need not wait for the commit.
    drop(tokio::spawn(async move {
        if let Err(fault) = tx.commit().await {
            tracing::debug!(%fault, "the transaction of a navigation was not ended properly");
        }
    }));
    Ok(found)
}

impl Navigator<'_> {
    async fn answer(&mut self) -> Result<Navigation, Fault> {
        let mut answer = Navigation::new(self.request);
        answer.warnings.extend(warn_of_newer(self.repositories.iter()));
        let mut finder = Finder {
            tx: self.tx,
            repositories: self.repositories,
            has_fields: self.request.relation == Relation::Definition,
            warnings: &mut answer.warnings,
        };
        match finder.find(&self.request.subject).await? {
            Found::One(target) => {
                answer.symbol = target.first().map(|first| self.info(first));
                match self.request.relation {
                    Relation::Definition => self.definition(&target, &mut answer),
                    Relation::References | Relation::Callers => {
                        places::uses(self, &target, &mut answer).await?
                    }
                    Relation::Callees => callees::callees(self, &target, &mut answer).await?,
                    Relation::Implementations | Relation::Hierarchy | Relation::Impact => {
                        steps::walked(self, &target, &mut answer).await?;
                    }
                }
                self.warn_of_gaps(Some(&target), &mut answer).await?;
            }
            Found::Several { targets, is_least } => {
                self.candidates(targets, is_least, &mut answer).await?;
            }
            Found::Undefined { name } => {
                let is_name_asked = self.request.certainty == Certainty::Name
                    && matches!(self.request.relation, Relation::References | Relation::Callers);
                if is_name_asked {
                    places::uses_of_name(self, &name, &mut answer).await?;
                }
                if answer.unresolved.as_ref().is_none_or(|unresolved| unresolved.total == 0) {
                    return Err(undefined(&name));
                }
                self.warn_of_gaps(None, &mut answer).await?;
            }
        }
        Ok(answer)
    }

    fn definition(&self, target: &Target, answer: &mut Navigation) {
        answer.total = target.definitions.len();
        let located = target.definitions.iter().map(|definition| self.defined(definition, None)).collect();
        answer.places = self.page(located);
    }

    async fn candidates(
        &mut self,
        mut targets: Vec<Target>,
        is_least: bool,
        answer: &mut Navigation,
    ) -> Result<(), Fault> {
        (answer.total, answer.total_is_least) = (targets.len(), is_least);
        let symbols: Vec<i64> = targets.iter().flat_map(Target::symbols).collect();
        let shared = POPULARITY_SUM_MAX / i64::try_from(symbols.len().max(1)).unwrap_or(i64::MAX);
        let most = shared.clamp(1, POPULARITY_MAX);
        let rough = self.popularity(&symbols, most).await?;
        // A stable sort, so that candidates with equally many uses stay in the order of paths.
        targets.sort_by_cached_key(|target| std::cmp::Reverse(used(target, &rough)));
        let page = targets.iter().skip(self.request.offset).take(self.request.limit.min(CANDIDATES_MAX));
        let shown: Vec<&Target> = page.collect();
        let counted = match most < POPULARITY_MAX {
            true => {
                let symbols: Vec<i64> = shown.iter().flat_map(|target| target.symbols()).collect();
                self.popularity(&symbols, POPULARITY_MAX).await?
            }
            false => rough,
        };
        let info = |target: &&Target| {
            let first = target.first()?;
            // Uses of fields are not followed.
            let uses = first.symbol.map(|_| usize::try_from(used(target, &counted)).unwrap_or(0));
            Some(SymbolInfo { uses, ..self.info(first) })
        };
        answer.candidates = shown.iter().filter_map(info).collect();
        Ok(())
    }

    /// Returns the numbers of uses by symbol, each counted up to `most` sources.
    async fn popularity(&mut self, symbols: &[i64], most: i64) -> Result<BTreeMap<i64, i64>, Fault> {
        Ok(use_places::popularity(self.tx, symbols, most).await?.into_iter().collect())
    }

    /// Warns of gaps in the facts about the repositories, so that an absent use is not taken for proof.
    async fn warn_of_gaps(&mut self, target: Option<&Target>, answer: &mut Navigation) -> Result<(), Fault> {
        let repository = target.and_then(Target::first).map(|first| first.repository_id);
        let ids: Vec<i64> = match repository {
            Some(id) => vec![id],
            None => self.repositories.iter().map(|row| row.id).collect(),
        };
        let due = navigation::due(self.tx, &ids, RESOLVER_VERSION).await?;
        if !due.is_empty() {
            let names: Vec<String> = due.iter().map(|id| self.repository(*id)).collect();
            let message = format!(
                "Not all uses in {} are resolved yet; some may be missing. `index_status` shows the run, `build_index` starts one.",
                names.join(", ")
            );
            answer.warnings.push(Warning::new("navigation_due", message));
        }
        let gaps = use_places::gaps(self.tx, &ids).await?;
        if gaps > 0 {
            let message = format!("Of {gaps} files, which have very many symbols, not all uses are known.");
            let details = Some(serde_json::json!({ "files": gaps }));
            answer.warnings.push(Warning { details, ..Warning::new("navigation_truncated", message) });
        }
        let Some(target) = target else { return Ok(()) };
        if matches!(answer.relation, Relation::References | Relation::Callers) {
            gaps::of_operators(&target.definitions, answer);
        }
        if let Some(first) = target.first()
            && !use_places::has_symbols(self.tx, first.file_id).await?
        {
            let language = first.language.as_deref().unwrap_or("this kind of file");
            let message = format!(
                "Uses in {language} are not resolved, so only definitions are known; `search` with `{}` finds the name.",
                filter_text("uses", &first.name)
            );
            answer.warnings.push(Warning::new("language_not_resolved", message));
        }
        Ok(())
    }
}

/// Returns the number of uses of a symbol, from the numbers of its ids.
fn used(target: &Target, counted: &BTreeMap<i64, i64>) -> i64 {
    target.symbols().iter().filter_map(|symbol| counted.get(symbol)).sum()
}

fn undefined(name: &str) -> Fault {
    let name = echo(name);
    Fault::new(
        ErrorCode::NotFound,
        format!(
            "`{name}` is used in what is indexed, but nothing there defines it: it comes from outside, was renamed, or is a local name."
        ),
    )
    .with_details(serde_json::json!({ "usedName": name }))
    .with_hint(format!(
        "`search` with `{}` or `{}` lists where the name occurs.",
        filter_text("uses", &name),
        filter_text("calls", &name)
    ))
}
