//! `import`: imports a folder of entries into the catalog.

use std::path::PathBuf;

use super::ProjectArg;
use super::folder::{EntryFolder, read_entry_folder};
use super::import_calls::{Import, import};
use crate::bound_folders::rules;
use contract::{ErrorCode, Fault, escaped_line};
use gate::app::blocking;
use surfaces::cli::shell::{CommandResult, NOTE, Session, styled};

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// Folder with a file for each entry, as `export` writes it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace entries that exist
    #[arg(long)]
    overwrite: bool,
    /// Remove entries that the folder does not have
    #[arg(long, requires = "overwrite")]
    prune: bool,
    /// Change nothing unless the catalog has this hash; --prune then removes any number of entries
    #[arg(long, value_name = "HASH")]
    if_hash: Option<String>,
    #[command(flatten)]
    project: ProjectArg,
}

/// Entry point of `import`.
pub(super) async fn import_folder(session: &Session, args: ImportArgs) -> CommandResult {
    let ImportArgs { folder, overwrite, prune, if_hash, project } = args;
    let (rules, path) = (rules(&session.app), folder.clone());
    let EntryFolder { content, note, .. } = blocking(move || read_entry_folder(&path, &rules)).await?;
    if let Some(note) = note {
        session.output.print_note(&format!("{} {}", styled(NOTE, "note:"), escaped_line(&note)));
    }
    if prune && content.entries.is_empty() && if_hash.is_none() {
        let message = format!("The folder {} has no entries, so --prune would remove all.", folder.display());
        return Err(Fault::new(ErrorCode::InvalidInput, message)
            .with_hint("If that is right, add --if-hash with the hash of the catalog.")
            .into());
    }
    let (gates, criteria) = (content.gates, content.criteria);
    let whole = Import { entries: content.entries, overwrite, prune, if_hash, gates, criteria };
    Ok(import(session, &project, whole).await?.print(session))
}
