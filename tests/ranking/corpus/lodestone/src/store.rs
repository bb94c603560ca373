//! The store itself: writes to log and memory, reads through all layers, flushes and recovers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use crate::cache::BlockCache;
use crate::error::{Error, Result};
use crate::manifest::{Manifest, table_path};
use crate::memtable::{Memtable, Slot};
use crate::options::Options;
use crate::table::{TableReader, TableWriter};
use crate::wal::{self, Record, Wal};

const KEY_MAX: usize = 1 << 16;
const VALUE_MAX: usize = 1 << 28;

/// Writes that happen together or not at all.
#[derive(Debug, Default)]
pub struct Batch {
    entries: Vec<(Vec<u8>, Slot)>,
}

impl Batch {
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.entries.push((key.to_vec(), Slot::Value(value.to_vec())));
        self
    }

    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.entries.push((key.to_vec(), Slot::Tombstone));
        self
    }
}

/// The store as it was at one moment.
pub struct Snapshot<'a> {
    store: &'a Store,
    sequence: u64,
}

impl Snapshot<'_> {
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.store.get_at(key, self.sequence)
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let mut held = self.store.snapshots.lock().unwrap();
        if let Some(at) = held.iter().position(|sequence| *sequence == self.sequence) {
            held.swap_remove(at);
        }
    }
}

/// What the store did so far.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    pub tables: usize,
    pub memtable_bytes: usize,
    pub cache_hit_rate: f64,
}

/// An open store.
pub struct Store {
    directory: PathBuf,
    options: Options,
    state: RwLock<State>,
    cache: Arc<BlockCache>,
    sequence: AtomicU64,
    snapshots: Mutex<Vec<u64>>,
    _lock: File,
}

struct State {
    memtable: Memtable,
    wal: Wal,
    manifest: Manifest,
    tables: Vec<TableReader>,
    poisoned: bool,
}

impl Store {
    /// Opens or creates a store, and brings back what the log has and the tables have not.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Self> {
        let directory = directory.as_ref().to_owned();
        fs::create_dir_all(&directory)?;
        let lock = lock(&directory.join("LOCK"))?;
        let manifest = Manifest::load(&directory)?;
        manifest.sweep(&directory)?;
        let cache = Arc::new(BlockCache::new(options.cache_bytes));
        let ids = manifest.levels.iter().flatten();
        let tables = ids
            .map(|id| TableReader::open(*id, &table_path(&directory, *id), Arc::clone(&cache)))
            .collect::<Result<_>>()?;
        let mut memtable = Memtable::default();
        let log = directory.join("LOG");
        let mut last = manifest.last_sequence;
        if log.exists() {
            wal::replay(&log, |record| {
                last = last.max(record.sequence);
                for (key, slot) in record.entries {
                    memtable.insert(&key, record.sequence, slot);
                }
            })?;
        }
        let wal = Wal::open(&log, options.sync)?;
        let state = RwLock::new(State { memtable, wal, manifest, tables, poisoned: false });
        Ok(Self {
            directory,
            options,
            state,
            cache,
            sequence: AtomicU64::new(last),
            snapshots: Mutex::default(),
            _lock: lock,
        })
    }

    /// Sets a key.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = Batch::default();
        batch.put(key, value);
        self.write(batch)
    }

    /// Removes a key, whether it is there or not.
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let mut batch = Batch::default();
        batch.delete(key);
        self.write(batch)
    }

    /// Applies a batch: one record in the log, then memory.
    pub fn write(&self, batch: Batch) -> Result<()> {
        for (key, slot) in &batch.entries {
            check(key.len(), KEY_MAX)?;
            if let Slot::Value(value) = slot {
                check(value.len(), VALUE_MAX)?;
            }
        }
        let mut state = self.state.write().unwrap();
        if state.poisoned {
            return Err(Error::Poisoned);
        }
        let sequence = self.sequence.load(Ordering::Acquire) + 1;
        let record = Record { sequence, entries: batch.entries };
        if let Err(error) = state.wal.append(&record) {
            state.poisoned = true;
            return Err(error);
        }
        for (key, slot) in record.entries {
            state.memtable.insert(&key, sequence, slot);
        }
        self.sequence.store(sequence, Ordering::Release);
        if state.memtable.bytes() >= self.options.memtable_bytes {
            self.flush_memtable(&mut state)?;
        }
        Ok(())
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_at(key, self.sequence.load(Ordering::Acquire))
    }

    /// Memory first, then tables from the newest to the oldest.
    fn get_at(&self, key: &[u8], sequence: u64) -> Result<Option<Vec<u8>>> {
        let state = self.state.read().unwrap();
        match state.memtable.get(key, sequence) {
            Some(Slot::Value(value)) => return Ok(Some(value.clone())),
            Some(Slot::Tombstone) => return Ok(None),
            None => {}
        }
        for table in state.tables.iter().rev() {
            if let Some(value) = table.get(key)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Holds on to what is there now.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let sequence = self.sequence.load(Ordering::Acquire);
        self.snapshots.lock().unwrap().push(sequence);
        Snapshot { store: self, sequence }
    }

    pub fn stats(&self) -> Stats {
        let state = self.state.read().unwrap();
        Stats {
            tables: state.tables.len(),
            memtable_bytes: state.memtable.bytes(),
            cache_hit_rate: self.cache.hit_rate(),
        }
    }

    /// Writes the memtable to a new table of level 0 and begins a new log.
    fn flush_memtable(&self, state: &mut State) -> Result<()> {
        if state.memtable.is_empty() {
            return Ok(());
        }
        let id = state.manifest.next_table;
        let path = table_path(&self.directory, id);
        let mut writer = TableWriter::create(&path, &self.options)?;
        for (key, _, slot) in state.memtable.iter() {
            if let Slot::Value(value) = slot {
                writer.add(key, value)?;
            }
        }
        writer.finish()?;
        if state.manifest.levels.is_empty() {
            state.manifest.levels.push(Vec::new());
        }
        state.manifest.levels[0].push(id);
        state.manifest.next_table += 1;
        state.manifest.last_sequence = self.sequence.load(Ordering::Acquire);
        state.manifest.save(&self.directory)?;
        state.tables.push(TableReader::open(id, &path, Arc::clone(&self.cache))?);
        state.memtable = Memtable::default();
        fs::remove_file(self.directory.join("LOG"))?;
        state.wal = Wal::open(&self.directory.join("LOG"), self.options.sync)?;
        Ok(())
    }
}

fn lock(path: &Path) -> Result<File> {
    let file = File::create(path)?;
    file.try_lock().map_err(|_| Error::Locked(path.to_owned()))?;
    Ok(file)
}

fn check(bytes: usize, max: usize) -> Result<()> {
    if bytes > max { Err(Error::TooLarge { bytes, max }) } else { Ok(()) }
}
