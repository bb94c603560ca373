//! Describes for the operator which principals may index which directories.

use super::AllowedRoots;
use super::keys::principal_of;
use super::principal::{Projects, Scope};
use contract::config::Config;
use contract::{Fault, ProjectId};
use store::{Store, api_keys, projects};

/// Maximum number of keys that are listed.
const KEYS_MAX: usize = 20;
/// Maximum number of projects that are listed for a key.
const PROJECTS_MAX: usize = 20;

/// One line for the operator, and one for each valid key that may index, for at most 20 keys.
///
/// # Errors
/// Storage faults.
pub async fn who_may_index(store: &Store, config: &Config) -> Result<Vec<String>, Fault> {
    let mut operator_line =
        format!("you, on this machine: {}", AllowedRoots::from_settings(&config.indexing));
    for id in config.indexing.project_roots.keys().take(PROJECTS_MAX) {
        let roots = AllowedRoots::for_project(&config.indexing, &ProjectId::parse(id)?);
        operator_line.push_str(&match roots.is_nothing() {
            true => format!("; no directory into {id}"),
            false => format!("; into {id} only from {roots}"),
        });
    }
    let mut lines = vec![operator_line];
    let mut control = store.control_read().await?;
    let (keys, projects) = (api_keys::list(&mut control).await?, projects::list(&mut control).await?);
    let projects_named = api_keys::projects_named(&mut control).await?;
    control.commit().await?;
    let mut unlisted = 0_usize;
    for row in keys.into_iter().filter(|row| row.live) {
        let key = principal_of(row)?;
        if !key.has_scope(Scope::Index) {
            continue;
        }
        if lines.len() > KEYS_MAX {
            unlisted += 1;
            continue;
        }
        let ids: Vec<ProjectId> = match &key.projects {
            Projects::Only(ids) => ids.iter().cloned().collect(),
            Projects::All => projects.iter().map(|project| project.id.clone()).collect(),
        };
        let describe = |id: &ProjectId| {
            let roots = AllowedRoots::for_caller_among(config, id, &key, projects_named);
            if roots.is_nothing() { format!("no directory into {id}") } else { format!("{id} from {roots}") }
        };
        let mut descriptions: Vec<String> = ids.iter().take(PROJECTS_MAX).map(describe).collect();
        if ids.len() > PROJECTS_MAX {
            descriptions.push(format!("{} more projects", ids.len() - PROJECTS_MAX));
        }
        let prefix = if key.projects == Projects::All { "every project: " } else { "" };
        lines.push(format!("{} “{}”: {prefix}{}", key.id, key.name, descriptions.join(", ")));
    }
    if unlisted > 0 {
        lines.push(format!("{unlisted} more keys; `pairofcleats keys list` shows them"));
    }
    Ok(lines)
}
