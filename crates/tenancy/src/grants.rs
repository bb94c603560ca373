//! Describes to the operator who may index which directories.

use super::AllowedRoots;
use super::keys::principal;
use super::principal::{Projects, Scope};
use contract::config::Config;
use contract::{Fault, ProjectId};
use store::{Store, api_keys, projects};

/// Most keys that are listed.
const KEYS_MAX: usize = 20;
/// Most projects of a key that are listed.
const PROJECTS_MAX: usize = 20;

/// One line for the operator, and one for each valid key that may index, for at most 20 keys.
///
/// # Errors
/// Storage faults.
pub async fn who_may_index(store: &Store, config: &Config) -> Result<Vec<String>, Fault> {
    let mut yours = format!("you, on this machine: {}", AllowedRoots::common(&config.indexing));
    for id in config.indexing.project_roots.keys().take(PROJECTS_MAX) {
        let own = AllowedRoots::of_project(&config.indexing, &ProjectId::parse(id)?);
        yours.push_str(&format!("; into {id} only from {own}"));
    }
    let mut lines = vec![yours];
    let mut control = store.control_read().await?;
    let (keys, all) = (api_keys::list(&mut control).await?, projects::list(&mut control).await?);
    let named = api_keys::projects_named(&mut control).await?;
    control.commit().await?;
    let mut left = 0_usize;
    for row in keys.into_iter().filter(|row| row.live) {
        let key = principal(row)?;
        if !key.may(Scope::Index) {
            continue;
        }
        if lines.len() > KEYS_MAX {
            left += 1;
            continue;
        }
        let ids: Vec<ProjectId> = match &key.projects {
            Projects::These(ids) => ids.iter().cloned().collect(),
            Projects::All => all.iter().map(|project| project.id.clone()).collect(),
        };
        let describe =
            |id: &ProjectId| format!("{id} from {}", AllowedRoots::granted(config, id, &key, named));
        let mut each: Vec<String> = ids.iter().take(PROJECTS_MAX).map(describe).collect();
        if ids.len() > PROJECTS_MAX {
            each.push(format!("{} more projects", ids.len() - PROJECTS_MAX));
        }
        let every = if key.projects == Projects::All { "every project: " } else { "" };
        lines.push(format!("{} “{}”: {every}{}", key.id, key.name, each.join(", ")));
    }
    if left > 0 {
        lines.push(format!("{left} more keys; `pairofcleats keys list` shows them"));
    }
    Ok(lines)
}
