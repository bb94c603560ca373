//! `diff`: compares a folder with the catalog, and shows what an import would change.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::ProjectArg;
use super::folder::{EntryFolder, read_entry_folder};
use super::import_calls::{RefusedEntry, render_refused};
use super::snapshot::{CatalogSnapshot, read_catalog};
use crate::bound_folders::rules;
use contract::escaped_line;
use gate::app::blocking;
use instructions::canonical::Hash;
use instructions::diff::catalog_hashes;
use instructions::files::{CRITERIA_FILE, GATES_FILE};
use platform::sha256;
use surfaces::cli::shell::{BAD, CommandResult, DIM, Exit, GOOD, NOTE, Session, styled};

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// Folder with a file for each entry, as `export` writes it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    project: ProjectArg,
}

/// The differences between a folder and the catalog.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct FolderDiff {
    up_to_date: bool,
    /// Hash of the catalog.
    hash: String,
    /// Hash that the catalog would have with the entries of the folder.
    folder_hash: String,
    /// Entries that only the folder has.
    added: Vec<String>,
    /// Entries that differ.
    changed: Vec<String>,
    /// Entries that only the catalog has; an import keeps them unless it prunes.
    removed: Vec<String>,
    /// Documents that an import would set.
    documents: Vec<&'static str>,
    /// Documents that only the catalog has; every import keeps them.
    kept_documents: Vec<&'static str>,
    /// Entries of the folder that an import would refuse.
    errors: Vec<RefusedEntry>,
}

/// Entry point of `diff`.
pub(super) async fn compare_folder(session: &Session, args: &DiffArgs) -> CommandResult {
    let (rules, path) = (rules(&session.app), args.folder.clone());
    let folder = blocking(move || read_entry_folder(&path, &rules)).await?;
    if let Some(note) = &folder.note {
        session.output.print_note(&format!("{} {}", styled(NOTE, "note:"), escaped_line(note)));
    }
    let found = compare(folder, &read_catalog(session, &args.project).await?);
    let exit = session.print_result(&found, &render(&found));
    Ok(if found.up_to_date { exit } else { Exit::Failed })
}

fn compare(folder: EntryFolder, catalog: &CatalogSnapshot) -> FolderDiff {
    let EntryFolder { content, hashes, errors, .. } = folder;
    let known = catalog.hashes();
    // A refused entry is in the folder all the same: it is listed as an error, not as removed.
    let is_refused = |id: &String| errors.iter().any(|refused| refused.id == *id);
    let added = hashes.keys().filter(|id| !known.contains_key(*id));
    let differs = |id: &&String| known.get(*id).is_some_and(|own| *own != hashes[*id]);
    let removed = known.keys().filter(|id| !hashes.contains_key(*id) && !is_refused(id));
    let documents =
        [(GATES_FILE, &content.gates, &catalog.gates), (CRITERIA_FILE, &content.criteria, &catalog.criteria)];
    type Compared<'a> = (&'static str, &'a Option<Value>, &'a Option<Value>);
    let names = |is_named: fn(&Compared) -> bool| {
        documents.iter().filter(|compared| is_named(compared)).map(|(name, ..)| *name).collect()
    };
    let hash = |hash: Hash| sha256::to_hex(&hash);
    let mut found = FolderDiff {
        up_to_date: false,
        hash: catalog.hash.clone(),
        folder_hash: hash(catalog_hashes(&hashes).0),
        added: added.cloned().collect(),
        changed: hashes.keys().filter(differs).cloned().collect(),
        removed: removed.cloned().collect(),
        documents: names(|(_, ours, theirs)| ours.is_some() && ours != theirs),
        kept_documents: names(|(_, ours, theirs)| ours.is_none() && theirs.is_some()),
        errors,
    };
    found.up_to_date = found.added.is_empty()
        && found.changed.is_empty()
        && found.removed.is_empty()
        && found.documents.is_empty()
        && found.kept_documents.is_empty()
        && found.errors.is_empty();
    found
}

fn render(found: &FolderDiff) -> String {
    if found.up_to_date {
        return format!("{} Folder and catalog are the same\n", styled(GOOD, "✓"));
    }
    let mut text = String::new();
    let documents = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (set, kept) = (documents(&found.documents), documents(&found.kept_documents));
    let lists = [
        (styled(GOOD, "+"), &found.added, "only in the folder: `import` adds it"),
        (styled(NOTE, "~"), &found.changed, "differs: `import --overwrite` replaces it"),
        (
            styled(BAD, "-"),
            &found.removed,
            "only in the catalog: only `import --overwrite --prune` removes it",
        ),
        (styled(NOTE, "~"), &set, "differs: `import` sets it"),
        (styled(DIM, "="), &kept, "only in the catalog: `import` leaves it"),
    ];
    for (mark, names, meaning) in lists {
        for name in names {
            text.push_str(&format!("{mark} {}  {}\n", escaped_line(name), styled(DIM, meaning)));
        }
    }
    text + &render_refused(&found.errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FolderContent;
    use instructions::diff::{CatalogHashes, Hashes};
    use instructions::{Instruction, Rules, Stored};
    use serde_json::json;

    fn stored(id: &str, body: &str) -> Stored {
        let entry = json!({ "id": id, "title": id, "body": body, "priority": 1, "audience": "all", "requirement": "optional" });
        let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
        let (source_hash, meta_hash) = (instruction.source_hash(), instruction.meta_hash());
        Stored { instruction, source_hash, meta_hash, created_ms: 1, updated_ms: 1 }
    }

    fn folder(entries: &[Stored]) -> EntryFolder {
        let hashes: CatalogHashes = entries
            .iter()
            .map(|stored| {
                let hashes = Hashes { source: stored.source_hash, meta: stored.meta_hash };
                (stored.instruction.id.clone(), hashes)
            })
            .collect();
        EntryFolder { content: FolderContent::default(), hashes, errors: Vec::new(), note: None }
    }

    fn catalog(entries: Vec<Stored>) -> CatalogSnapshot {
        CatalogSnapshot { hash: "h".into(), meta_hash: "m".into(), entries, gates: None, criteria: None }
    }

    #[test]
    fn each_difference_is_named_once() {
        let ours = [stored("a", "A"), stored("b", "B2"), stored("new", "N")];
        let theirs = vec![stored("a", "A"), stored("b", "B"), stored("broken", "x"), stored("gone", "G")];
        let mut folder = folder(&ours);
        folder.content.gates = Some(json!({ "gates": [] }));
        folder.errors.push(RefusedEntry { id: "broken".into(), error: "Wrong.".into() });
        let mut catalog = catalog(theirs);
        catalog.criteria = Some(json!({ "categories": [] }));
        let found = compare(folder, &catalog);
        assert_eq!(found.kept_documents, ["criteria.json"]);
        assert_eq!(
            (
                &found.added[..],
                &found.changed[..],
                &found.removed[..],
                &found.documents[..],
                found.up_to_date
            ),
            (
                &["new".to_owned()][..],
                &["b".to_owned()][..],
                &["gone".to_owned()][..],
                &["gates.json"][..],
                false
            )
        );
        assert_eq!(
            anstream::adapter::strip_str(&render(&found)).to_string(),
            "+ new  only in the folder: `import` adds it\n~ b  differs: `import --overwrite` replaces it\n\
             - gone  only in the catalog: only `import --overwrite --prune` removes it\n\
             ~ gates.json  differs: `import` sets it\n\
             = criteria.json  only in the catalog: `import` leaves it\n\
             ✗ 1 entry was refused\n  broken: Wrong.\n"
        );
    }

    #[test]
    fn the_same_entries_are_up_to_date() {
        let found = compare(folder(&[stored("a", "A")]), &catalog(vec![stored("a", "A")]));
        assert!(found.up_to_date, "{found:?}");
        assert_eq!(
            anstream::adapter::strip_str(&render(&found)).to_string(),
            "✓ Folder and catalog are the same\n"
        );
    }
}
