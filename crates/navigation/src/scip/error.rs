//! Errors of SCIP files, with their positions.

use std::{fmt, io};

/// The error of a SCIP file that is refused.
#[derive(Debug)]
pub struct Error {
    /// The problem.
    pub problem: Problem,
    /// The byte of the file at which it was noticed.
    pub offset: u64,
    /// The path of the document that it is in, once that is known.
    pub document: Option<String>,
}

/// A problem with a SCIP file.
#[derive(Debug)]
pub enum Problem {
    /// The file cannot be read.
    Io(io::Error),
    /// It is compressed.
    Gzip,
    /// It ends inside a field.
    Truncated,
    /// A number has more bytes than a number can have.
    Varint,
    /// A field has number 0, or one above those that protobuf allows.
    FieldNumber,
    /// A field has a form that SCIP does not use: a group, or one that protobuf does not define.
    WireType(u8),
    /// A field has a different form from the one that SCIP gives it.
    FieldType(&'static str),
    /// Something is larger, longer or more than its limit.
    Limit {
        /// The thing that is limited.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// A text is not UTF-8.
    Utf8(&'static str),
    /// A text has a NUL character.
    Nul(&'static str),
    /// It does not begin with metadata, as each SCIP file must.
    MetadataMissing,
    /// It has metadata twice.
    MetadataTwice,
    /// A document has no path, or one that is not relative and canonical.
    Path,
    /// A range does not consist of three or four numbers from 0 on, or ends before it begins.
    Range,
    /// A position encoding that SCIP does not define.
    PositionEncoding,
    /// Information about a symbol, or a relationship to one, does not name the symbol.
    SymbolMissing,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(out, "cannot be read: {error}"),
            Self::Gzip => write!(out, "is compressed with gzip; decompress it first"),
            Self::Truncated => write!(out, "ends inside a field"),
            Self::Varint => write!(out, "has a number that is too long"),
            Self::FieldNumber => write!(out, "has a field with an impossible number"),
            Self::WireType(kind) => {
                write!(out, "has a field of the wire type {kind}, which SCIP does not use")
            }
            Self::FieldType(what) => write!(out, "has another type of field as {what} than SCIP defines"),
            Self::Limit { what, max } => write!(out, "exceeds the limit of {max} {what}"),
            Self::Utf8(what) => write!(out, "has a {what} that is not UTF-8"),
            Self::Nul(what) => write!(out, "has a {what} with a NUL character"),
            Self::MetadataMissing => {
                write!(out, "does not begin with SCIP metadata; it may not be a SCIP file")
            }
            Self::MetadataTwice => write!(out, "has metadata twice"),
            Self::Path => write!(out, "has a document whose path is not relative and canonical"),
            Self::Range => write!(out, "has a range that is not one"),
            Self::PositionEncoding => write!(out, "has a position encoding that SCIP does not define"),
            Self::SymbolMissing => write!(out, "has symbol information without a symbol"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "The SCIP file {} (byte {}", self.problem, self.offset)?;
        if let Some(path) = &self.document {
            write!(out, ", document \"{}\"", path.escape_debug())?;
        }
        write!(out, ").")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl Error {
    /// Creates the error for a problem at this byte.
    pub(super) const fn new(problem: Problem, offset: u64) -> Self {
        Self { problem, offset, document: None }
    }
}
