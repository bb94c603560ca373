//! Filters for branches and tags: the content of revisions, and repositories that were indexed on a branch.

use crate::search::filters::fields::FilterField;
use crate::search::filters::request_filter::invalid_value;
use crate::search::filters::resolver::Resolver;
use crate::search::filters::revision_names::KnownRevisions;
use crate::search::filters::revisions::NamedRevisions;
use contract::{Fault, Warning, echo};
use store::{Filter, Test};

impl Resolver<'_> {
    /// Returns a filter for the content of revisions with these names.
    pub(in crate::search) fn revision(
        &mut self,
        field: &'static FilterField,
        names: &[String],
    ) -> Result<Filter, Fault> {
        let named = NamedRevisions::new(names.to_vec()).map_err(|reason| invalid_value(field, &reason))?;
        let mut found = Vec::new();
        for repository in self.repositories {
            if named.is_default(repository) {
                found.push(Test::Repositories(vec![repository.id]).into());
            }
            let (hidden, views) = named.of(repository.id, &self.asked.known);
            if views != 0 {
                let ids = std::iter::once(repository.id).chain(hidden).collect();
                found.push(Filter::All(vec![Test::Repositories(ids).into(), Test::Views(views).into()]));
            }
        }
        if found.is_empty() {
            let KnownRevisions { names: known, hint } =
                KnownRevisions::new(self.repositories, &self.asked.known);
            let named: Vec<String> = names.iter().map(|name| echo(name)).collect();
            let message = format!("No indexed revision is called {}. {hint}", named.join(", "));
            let details = Some(serde_json::json!({ "revisions": known }));
            self.warnings.push(Warning { details, ..Warning::new("revision_unknown", message) });
        }
        Ok(Filter::Any(found))
    }

    /// Returns a filter for repositories that were indexed on this branch, and those whose branch is unknown.
    pub(in crate::search) fn branch(&mut self, names: &[String]) -> Filter {
        let queried = names.first().map_or("", String::as_str);
        let queried = queried.strip_prefix("refs/heads/").unwrap_or(queried);
        let is_queried = |branch: &str| {
            if self.case_file { branch == queried } else { branch.to_lowercase() == queried.to_lowercase() }
        };
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.repositories.iter().partition(|repository| repository.branch.is_some());
        let fitting: Vec<i64> =
            known.iter().filter(|r| r.branch.as_deref().is_some_and(is_queried)).map(|r| r.id).collect();
        let other: Vec<String> = known
            .iter()
            .filter(|repository| !fitting.contains(&repository.id))
            .map(|repository| {
                format!("{} ({})", repository.name, repository.branch.as_deref().unwrap_or_default())
            })
            .collect();
        if !other.is_empty() {
            let message =
                format!("Indexed on another branch than `{queried}` and left out: {}.", other.join(", "));
            let details = serde_json::json!({ "branchFilter": queried, "branchMatch": !fitting.is_empty() });
            self.warnings
                .push(Warning { details: Some(details), ..Warning::new("branch_mismatch", message) });
        }
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.iter().map(|repository| repository.name.as_str()).collect();
            let message = format!(
                "The indexed branch of {} is unknown, so `branch` does not exclude it.",
                names.join(", ")
            );
            self.warnings.push(Warning::new("branch_unknown", message));
        }
        let ids: Vec<i64> =
            fitting.into_iter().chain(unknown.iter().map(|repository| repository.id)).collect();
        Test::Repositories(self.asked.with_hidden(&ids)).into()
    }
}
