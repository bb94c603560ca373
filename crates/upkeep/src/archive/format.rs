//! What an archive says about itself.

use std::io::Read;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use contract::{ErrorCode, Fault};
use store::ModelFacts;
use store::transfer::{Column, Module};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;
/// The entry that describes the others.
pub(super) const MANIFEST: &str = "manifest.json";
/// A longer one is not of ours.
pub(super) const MANIFEST_BYTES_MAX: u64 = 1_048_576;
/// pgvector's limit of a halfvec.
const DIMENSIONS_MAX: usize = 16_000;
/// Bytes on their way at a time.
pub(super) const PIECE_BYTES: usize = 262_144;
/// Pieces on their way at a time.
pub(super) const PIECES: usize = 8;

/// The whole of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The program that wrote it.
    pub(super) program: String,
    pub(super) project_id: String,
    pub(super) created_at: String,
    pub(super) model: Model,
    pub(super) modules: Vec<ModuleVersion>,
    /// In the order in which they are taken up.
    pub(super) tables: Vec<Table>,
}

/// The model whose vectors it holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Model {
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

/// A table and what its entry must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Table {
    pub(super) module: String,
    pub(super) name: String,
    /// Names and types.
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    /// Unpacked.
    pub(super) bytes: u64,
    /// Of the unpacked bytes, hexadecimal.
    pub(super) sha256: String,
}

impl Model {
    pub(super) fn of(facts: &ModelFacts) -> Self {
        Self {
            id: facts.id.clone(),
            variant: facts.variant.clone(),
            hash: hex(&facts.hash),
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
    /// The modules, each of the version that this program has.
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
        let wanted: Vec<(&str, &str)> = modules.iter().flat_map(tables).collect();
        let had: Vec<(&str, &str)> =
            self.tables.iter().map(|table| (table.module.as_str(), table.name.as_str())).collect();
        if wanted == had {
            Ok(modules)
        } else {
            Err(damaged("its manifest does not list the tables there are"))
        }
    }
}

/// The entry of a table.
pub(super) fn entry(module: &str, table: &str) -> String {
    format!("{module}/{table}")
}

/// Counts and hashes what it reads.
pub(super) struct Hashed<R> {
    inner: R,
    hasher: Sha256,
    pub(super) bytes: u64,
}

impl<R> Hashed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, hasher: Sha256::new(), bytes: 0 }
    }

    pub(super) fn sha256(self) -> String {
        hex(&self.hasher.finalize())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file is not what an export wrote.
pub(super) fn damaged(why: impl std::fmt::Display) -> Fault {
    let mut fault = Fault::new(ErrorCode::DownloadVerifyFailed, format!("The archive is damaged: {why}."))
        .with_hint("Copy it again from where it was made, or export the project again.");
    fault.retryable = false;
    fault
}

fn other_version(message: String) -> Fault {
    Fault::new(ErrorCode::IllegalState, message).with_hint(
        "Use the same version of this program on both sides: upgrade the older one, then export again.",
    )
}
