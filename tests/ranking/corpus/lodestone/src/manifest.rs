//! Which tables are alive, by level.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const NAME: &str = "MANIFEST";

/// The live tables; a change is written aside and renamed, so that it happens whole or not at all.
#[derive(Debug, Default, Clone)]
pub struct Manifest {
    pub levels: Vec<Vec<u64>>,
    pub next_table: u64,
    pub last_sequence: u64,
}

impl Manifest {
    /// Reads the manifest of a directory; a new directory has none.
    pub fn load(directory: &Path) -> Result<Self> {
        let path = directory.join(NAME);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(Self::default()) };
        let corrupt = |what| Error::Corrupt { file: path.clone(), offset: 0, what };
        let mut lines = text.lines();
        let mut number = |what| lines.next().and_then(|line| line.parse().ok()).ok_or_else(|| corrupt(what));
        let (next_table, last_sequence) = (number("next table")?, number("last sequence")?);
        let mut levels = Vec::new();
        for line in lines {
            let tables: std::result::Result<_, _> = line.split_whitespace().map(str::parse).collect();
            levels.push(tables.map_err(|_| corrupt("level"))?);
        }
        Ok(Self { levels, next_table, last_sequence })
    }

    /// Replaces the manifest on disk.
    pub fn save(&self, directory: &Path) -> Result<()> {
        let aside = directory.join("MANIFEST.new");
        let mut file = fs::File::create(&aside)?;
        writeln!(file, "{}\n{}", self.next_table, self.last_sequence)?;
        for level in &self.levels {
            let names: Vec<String> = level.iter().map(u64::to_string).collect();
            writeln!(file, "{}", names.join(" "))?;
        }
        file.sync_all()?;
        fs::rename(aside, directory.join(NAME))?;
        Ok(())
    }

    /// Deletes tables that nothing names: leftovers of a compaction that did not finish.
    pub fn sweep(&self, directory: &Path) -> Result<usize> {
        let live: BTreeSet<PathBuf> = self.levels.iter().flatten().map(|id| table_path(directory, *id)).collect();
        let mut removed = 0;
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "table") && !live.contains(&path) {
                fs::remove_file(path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Where a table lies.
pub fn table_path(directory: &Path, id: u64) -> PathBuf {
    directory.join(format!("{id:08}.table"))
}
