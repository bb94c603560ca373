//! Reads a SCIP file, one document at a time.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::document::Document;
use super::error::{Error, Problem};
use super::limits::Limits;
use super::metadata::Metadata;
use super::wire::{self, Message, Tag};

/// The number of bytes read from the source at once.
const BUFFER_BYTES: usize = 1 << 16;

/// A SCIP file that is being read. Only one document at a time is in memory.
///
/// After an error nothing more may be read, and the documents before it must not be used: a broken file is refused as a whole.
pub struct Reader<R> {
    source: BufReader<R>,
    limits: Limits,
    /// The position of the next byte in the file.
    offset: u64,
    metadata: Metadata,
    /// The bytes of the current document.
    document: Vec<u8>,
    documents: u64,
    /// Hashes of the paths seen, under a key of this process, which a file cannot aim at.
    paths: HashSet<u64>,
    hasher: RandomState,
}

impl<R: Read> Reader<R> {
    /// Reads the metadata at the beginning of a SCIP file.
    ///
    /// # Errors
    ///
    /// If the metadata is missing or broken.
    pub fn new(source: R, limits: Limits) -> Result<Self, Error> {
        let mut reader = Self {
            source: BufReader::with_capacity(BUFFER_BYTES, source),
            limits,
            offset: 0,
            metadata: Metadata::default(),
            document: Vec::new(),
            documents: 0,
            paths: HashSet::new(),
            hasher: RandomState::new(),
        };
        if reader.buffer()?.starts_with(&[0x1f, 0x8b]) {
            return Err(reader.error(Problem::Gzip));
        }
        match reader.tag()? {
            Some(Tag { field: 1, wire_type: 2 }) => {
                let start = reader.message("metadata")?;
                reader.metadata = Metadata::parse(Message::new(&reader.document, start))?;
                Ok(reader)
            }
            _ => Err(reader.error(Problem::MetadataMissing)),
        }
    }

    /// Returns the metadata of the file.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Reads the next document; `None` at the end of the file. Of documents with the same path, only the first counts: an indexer that
    /// reads several configurations of a project (scip-typescript) writes one for each.
    ///
    /// # Errors
    ///
    /// If the file is broken, or beyond a limit.
    pub fn next_document(&mut self) -> Result<Option<Document<'_>>, Error> {
        let start = loop {
            let Some(Tag { field, wire_type }) = self.tag()? else { return Ok(None) };
            match (field, wire_type) {
                (1, _) => return Err(self.error(Problem::MetadataTwice)),
                (2, 2) => {
                    let start = self.read_document()?;
                    let path = Document::path_of(Message::new(&self.document, start), &self.limits)?;
                    if self.paths.insert(self.hasher.hash_one(path)) {
                        break start;
                    }
                    // A skipped document must be sound as well.
                    Document::parse(Message::new(&self.document, start), &self.limits)?;
                }
                (2, _) => return Err(self.error(Problem::FieldType("document"))),
                (_, wire_type) => self.skip(wire_type)?,
            }
        };
        Document::parse(Message::new(&self.document, start), &self.limits).map(Some)
    }

    /// Reads the next document into memory; returns the offset at which it begins.
    fn read_document(&mut self) -> Result<u64, Error> {
        self.documents += 1;
        if self.documents > self.limits.documents {
            return Err(self.error(Problem::Limit { what: "documents", max: self.limits.documents }));
        }
        self.message("document")
    }

    /// Reads a message that is small enough into memory; returns the offset at which it begins.
    fn message(&mut self, what: &'static str) -> Result<u64, Error> {
        let length = self.varint()?.ok_or_else(|| self.error(Problem::Truncated))?;
        if length > self.limits.document_bytes {
            let what = if what == "document" { "bytes of a document" } else { "bytes of metadata" };
            return Err(self.error(Problem::Limit { what, max: self.limits.document_bytes }));
        }
        let start = self.offset;
        self.document.clear();
        // Memory grows with the bytes that arrive, not with the length that is announced.
        while (self.document.len() as u64) < length {
            let missing = length - self.document.len() as u64;
            let chunk = self.buffer()?;
            let taken = chunk.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
            if taken == 0 {
                return Err(self.error(Problem::Truncated));
            }
            let Self { source, document, .. } = self;
            document.extend_from_slice(&source.buffer()[..taken]);
            self.consume(taken)?;
        }
        Ok(start)
    }

    /// Skips the value of a field that SCIP does not define, or that is not needed.
    fn skip(&mut self, wire_type: u8) -> Result<(), Error> {
        let mut length = match wire_type {
            0 => return self.varint()?.map(|_| ()).ok_or_else(|| self.error(Problem::Truncated)),
            1 => 8,
            2 => self.varint()?.ok_or_else(|| self.error(Problem::Truncated))?,
            5 => 4,
            other => return Err(self.error(Problem::WireType(other))),
        };
        while length > 0 {
            let taken = self.buffer()?.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            if taken == 0 {
                return Err(self.error(Problem::Truncated));
            }
            self.consume(taken)?;
            length -= taken as u64;
        }
        Ok(())
    }

    /// Reads the next field's tag; `None` at the end of the file.
    fn tag(&mut self) -> Result<Option<Tag>, Error> {
        let start = self.offset;
        self.varint()?.map(|number| wire::tag(number, start)).transpose()
    }

    /// Reads the next number; `None` at the end of the file.
    fn varint(&mut self) -> Result<Option<u64>, Error> {
        let mut number = 0;
        for at in 0.. {
            let Some(byte) = self.buffer()?.first().copied() else {
                return if at == 0 { Ok(None) } else { Err(self.error(Problem::Truncated)) };
            };
            let last = wire::push_varint(&mut number, at, byte).map_err(|problem| self.error(problem))?;
            self.consume(1)?;
            if last {
                break;
            }
        }
        Ok(Some(number))
    }

    /// Returns bytes that are read and not consumed; empty only at the end of the file.
    fn buffer(&mut self) -> Result<&[u8], Error> {
        let offset = self.offset;
        // The first call reads; the second one returns the same bytes, which the borrow checker lets us borrow outside of the loop.
        loop {
            match self.source.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::new(Problem::Io(error), offset)),
            }
        }
        Ok(self.source.buffer())
    }

    /// Takes bytes off the buffer.
    fn consume(&mut self, bytes: usize) -> Result<(), Error> {
        self.source.consume(bytes);
        self.offset += bytes as u64;
        if self.offset > self.limits.file_bytes {
            return Err(self.error(Problem::Limit { what: "bytes of a file", max: self.limits.file_bytes }));
        }
        Ok(())
    }

    const fn error(&self, problem: Problem) -> Error {
        Error::new(problem, self.offset)
    }
}
