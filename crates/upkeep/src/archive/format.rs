//! The archive format: the manifest, the names of entries, and the checks on both.

use std::io::Read;

use serde::{Deserialize, Serialize};

use contract::{ErrorCode, Fault};
use platform::sha256::{Hasher, to_hex};
use store::ModelFacts;
use store::transfer::{Column, Module};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;
/// Name of the entry with the manifest.
pub(super) const MANIFEST: &str = "manifest.json";
/// Largest manifest that is read; an export writes a few kilobytes.
pub(super) const MANIFEST_BYTES_MAX: u64 = 1_048_576;
/// Maximum number of dimensions of pgvector's `halfvec`.
const DIMENSIONS_MAX: usize = 16_000;
/// Bytes that are passed at a time between an archive and the database.
pub(super) const PIECE_BYTES: usize = 262_144;
/// Capacity of the channel between an archive and the database, in pieces.
pub(super) const PIECES_BUFFERED: usize = 8;

/// The manifest of an archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// Name and version of the program that wrote the archive.
    pub(super) program: String,
    pub(super) project_id: String,
    pub(super) created_at: String,
    pub(super) model: ArchivedModel,
    pub(super) modules: Vec<ModuleVersion>,
    /// The tables in the order of import.
    pub(super) tables: Vec<TableEntry>,
}

/// The model of the archived vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ArchivedModel {
    id: String,
    variant: String,
    /// Hexadecimal.
    hash: String,
    dimensions: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ModuleVersion {
    pub(super) name: String,
    pub(super) version: i32,
}

/// A table and the size and hash of its entry in the archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TableEntry {
    pub(super) module: String,
    pub(super) name: String,
    /// Names and types.
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    /// Uncompressed size.
    pub(super) bytes: u64,
    /// sha256 of the uncompressed bytes, hexadecimal.
    pub(super) sha256: String,
}

impl ArchivedModel {
    pub(super) fn from_facts(facts: &ModelFacts) -> Self {
        Self {
            id: facts.id.clone(),
            variant: facts.variant.clone(),
            hash: to_hex(&facts.hash),
            dimensions: facts.dimensions,
        }
    }

    pub(super) fn facts(&self) -> Result<ModelFacts, Fault> {
        let bytes = self.hash.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        let hash: Option<Vec<u8>> = bytes.collect();
        match hash {
            Some(hash) if hash.len() == 32 && (1..=DIMENSIONS_MAX).contains(&self.dimensions) => {
                Ok(ModelFacts {
                    id: self.id.clone(),
                    variant: self.variant.clone(),
                    hash,
                    dimensions: self.dimensions,
                })
            }
            _ => Err(damaged("its manifest names no model")),
        }
    }
}

impl Manifest {
    /// Returns the modules; an error if format, module versions or tables differ from those of this program.
    pub(super) fn modules(&self) -> Result<Vec<Module>, Fault> {
        if self.format != FORMAT {
            return Err(other_version(format!("The archive has the format {}.", self.format)));
        }
        let modules = self.modules.iter().map(|ModuleVersion { name, version }| {
            Module::named(name).filter(|known| known.version == *version).ok_or_else(|| {
                other_version(format!(
                    "The archive holds version {version} of the module {}.",
                    name.escape_debug()
                ))
            })
        });
        let modules = modules.collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<&str> = modules.iter().map(|module| module.name).collect();
        if names.first() != Some(&"search") {
            return Err(damaged("its manifest does not begin with search"));
        }
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(damaged("its manifest names a module twice"));
        }
        let tables = |module: &Module| {
            let name = module.name;
            module.tables().into_iter().map(move |table| (name, table)).collect::<Vec<_>>()
        };
        let expected: Vec<(&str, &str)> = modules.iter().flat_map(tables).collect();
        let listed: Vec<(&str, &str)> =
            self.tables.iter().map(|table| (table.module.as_str(), table.name.as_str())).collect();
        if expected == listed {
            Ok(modules)
        } else {
            Err(damaged("its manifest lists other tables than its modules have"))
        }
    }
}

/// Returns the name of a table's entry.
pub(super) fn entry_name(module: &str, table: &str) -> String {
    format!("{module}/{table}")
}

/// A reader that counts and hashes what is read through it.
pub(super) struct HashingReader<R> {
    inner: R,
    hasher: Hasher,
}

impl<R> HashingReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, hasher: Hasher::default() }
    }

    /// Returns sha256 (hexadecimal) and number of the bytes that were read.
    pub(super) fn finish(self) -> (String, u64) {
        let bytes = self.hasher.bytes();
        (self.hasher.hex(), bytes)
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}

/// Returns the fault for an archive that differs from what an export writes.
pub(super) fn damaged(why: impl std::fmt::Display) -> Fault {
    let mut fault = Fault::new(ErrorCode::DownloadVerifyFailed, format!("The archive is damaged: {why}."))
        .with_hint("Copy it again from where it was exported, or export the project again.");
    fault.retryable = false;
    fault
}

fn other_version(message: String) -> Fault {
    Fault::new(ErrorCode::IllegalState, message).with_hint(
        "Use the same version of this program on both sides: upgrade the older one, then export again.",
    )
}
