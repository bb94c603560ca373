//! A document of a SCIP file: the definitions and uses in one source file.

use super::error::{Error, Problem};
use super::limits::Limits;
use super::range::{PositionEncoding, Range, RangeNumbers};
use super::wire::Message;

/// The content of a SCIP file about one source file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document<'a> {
    /// Path relative to the root of the index, with `/`.
    pub path: &'a str,
    /// The language, as the indexer calls it.
    pub language: &'a str,
    /// The unit of columns in its ranges.
    pub encoding: PositionEncoding,
    /// The text of the file, if the indexer included it.
    pub text: &'a str,
    /// Definitions and uses of symbols. Occurrences without a symbol, which only colour the text, are omitted.
    pub occurrences: Vec<Occurrence<'a>>,
    /// Information about the symbols that it defines.
    pub symbols: Vec<SymbolInformation<'a>>,
}

/// A definition or a use of a symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occurrence<'a> {
    /// The place of the name.
    pub range: Range,
    /// The symbol; see [`Symbol`](super::Symbol) for the grammar of its text. Never empty.
    pub symbol: &'a str,
    /// The roles of the symbol here.
    pub roles: Roles,
    /// The whole definition, not only its name, if this is a definition.
    pub enclosing_range: Option<Range>,
}

/// The roles of a symbol at an occurrence: a set of bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Roles(pub u32);

/// Information about a symbol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolInformation<'a> {
    /// The symbol.
    pub symbol: &'a str,
    /// Its kind.
    pub kind: SymbolKind,
    /// Its name, as people write it.
    pub display_name: &'a str,
    /// The symbol around a local symbol.
    pub enclosing_symbol: &'a str,
    /// Its relationships to other symbols.
    pub relationships: Vec<Relationship<'a>>,
}

/// A relationship of a symbol to another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relationship<'a> {
    /// The other symbol.
    pub symbol: &'a str,
    /// References to the other symbol count as references to this one.
    pub is_reference: bool,
    /// This symbol implements or overrides the other one.
    pub is_implementation: bool,
    /// The other symbol is the type of this one.
    pub is_type_definition: bool,
    /// This symbol is defined where the other one is.
    pub is_definition: bool,
}

/// The kind of a symbol: a number that SCIP defines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SymbolKind(pub u32);

impl Roles {
    /// It is defined here.
    pub const DEFINITION: Self = Self(1);
    /// It is imported here.
    pub const IMPORT: Self = Self(2);
    /// It is assigned here.
    pub const WRITE: Self = Self(4);
    /// It is read here.
    pub const READ: Self = Self(8);
    /// The text is generated.
    pub const GENERATED: Self = Self(16);
    /// The text is a test.
    pub const TEST: Self = Self(32);
    /// It is announced here, and defined elsewhere.
    pub const FORWARD_DEFINITION: Self = Self(64);

    /// Checks whether all of `roles` are among these.
    #[must_use]
    pub const fn contains(self, roles: Self) -> bool {
        self.0 & roles.0 == roles.0
    }

    /// Returns these roles and `roles` together.
    #[must_use]
    pub const fn with(self, roles: Self) -> Self {
        Self(self.0 | roles.0)
    }
}

impl SymbolKind {
    /// A class.
    pub const CLASS: Self = Self(7);
    /// A constant.
    pub const CONSTANT: Self = Self(8);
    /// A constructor.
    pub const CONSTRUCTOR: Self = Self(9);
    /// An enum.
    pub const ENUM: Self = Self(11);
    /// A member of an enum.
    pub const ENUM_MEMBER: Self = Self(12);
    /// A field.
    pub const FIELD: Self = Self(15);
    /// A function.
    pub const FUNCTION: Self = Self(17);
    /// An interface.
    pub const INTERFACE: Self = Self(21);
    /// A macro.
    pub const MACRO: Self = Self(25);
    /// A method.
    pub const METHOD: Self = Self(26);
    /// A module.
    pub const MODULE: Self = Self(29);
    /// A namespace.
    pub const NAMESPACE: Self = Self(30);
    /// A property.
    pub const PROPERTY: Self = Self(41);
    /// A struct.
    pub const STRUCT: Self = Self(49);
    /// A trait.
    pub const TRAIT: Self = Self(53);
    /// A type.
    pub const TYPE: Self = Self(54);
    /// Another name for a type.
    pub const TYPE_ALIAS: Self = Self(55);
    /// A union.
    pub const UNION: Self = Self(59);
    /// A variable.
    pub const VARIABLE: Self = Self(61);
}

impl<'a> Document<'a> {
    /// Reads the message.
    pub(super) fn parse(message: Message<'a>, limits: &Limits) -> Result<Self, Error> {
        let mut document = Self::default();
        let parsed = document.fill(message, limits).and_then(|()| {
            if is_canonical(document.path) { Ok(()) } else { Err(message.error(Problem::Path)) }
        });
        match parsed {
            Ok(()) => Ok(document),
            Err(error) => {
                let path = Some(document.path.to_owned()).filter(|path| !path.is_empty());
                Err(Error { document: path, ..error })
            }
        }
    }

    /// Returns the path of the document in the message, without reading the rest.
    pub(super) fn path_of(mut message: Message<'a>, limits: &Limits) -> Result<&'a str, Error> {
        let (offset, mut path) = (message.offset(), "");
        while let Some((field, value)) = message.next_field()? {
            if field == 1 {
                path = value.bytes("path", offset)?.text("bytes of a path", limits.path_bytes)?;
            }
        }
        Ok(path)
    }

    fn fill(&mut self, mut message: Message<'a>, limits: &Limits) -> Result<(), Error> {
        let offset = message.offset();
        while let Some((field, value)) = message.next_field()? {
            match field {
                1 => self.path = value.bytes("path", offset)?.text("bytes of a path", limits.path_bytes)?,
                2 => {
                    let message = value.bytes("occurrence", offset)?;
                    if let Some(occurrence) = Occurrence::parse(message, limits)? {
                        let full = self.occurrences.len() as u64 >= limits.occurrences;
                        check(full, "occurrences in a document", limits.occurrences, message)?;
                        self.occurrences.push(occurrence);
                    }
                }
                3 => {
                    let message = value.bytes("symbol", offset)?;
                    let full = self.symbols.len() as u64 >= limits.symbols;
                    check(full, "symbols in a document", limits.symbols, message)?;
                    self.symbols.push(SymbolInformation::parse(message, limits)?);
                }
                4 => {
                    let language = value.bytes("language", offset)?;
                    self.language = language.text("bytes of a language", limits.path_bytes)?;
                }
                5 => {
                    let text = value.bytes("text", offset)?;
                    self.text = text.text("bytes of a text", limits.document_bytes)?;
                }
                6 => {
                    self.encoding =
                        PositionEncoding::parse(value.number("position encoding", offset)?, offset)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns an error if a limit is exceeded.
const fn check(exceeded: bool, what: &'static str, max: u64, at: Message<'_>) -> Result<(), Error> {
    if exceeded { Err(at.error(Problem::Limit { what, max })) } else { Ok(()) }
}

/// Checks whether a path is relative to a root that it does not leave, and has one spelling only.
pub(super) fn is_canonical(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl<'a> Occurrence<'a> {
    /// Reads the message; `None` if it has no symbol.
    fn parse(mut message: Message<'a>, limits: &Limits) -> Result<Option<Self>, Error> {
        let offset = message.offset();
        let mut occurrence = Self::default();
        let (mut range, mut enclosing) = (RangeNumbers::default(), RangeNumbers::default());
        let (mut typed, mut typed_enclosing) = (None, None);
        while let Some((field, value)) = message.next_field()? {
            match field {
                1 => range.push_field(value, offset)?,
                2 => occurrence.symbol = symbol_text(value.bytes("symbol", offset)?, limits)?,
                // Bits that SCIP does not define are kept; negative numbers have none of those that it does.
                3 => occurrence.roles = Roles(value.number("roles", offset)? as u32),
                7 => enclosing.push_field(value, offset)?,
                8 | 9 => typed = Some(Range::parse(value.bytes("range", offset)?, field == 8)?),
                10 | 11 => {
                    typed_enclosing = Some(Range::parse(value.bytes("range", offset)?, field == 10)?);
                }
                _ => {}
            }
        }
        let (range, enclosing) = (range.finish(offset)?, enclosing.finish(offset)?);
        occurrence.range = typed.or(range).ok_or(Error::new(Problem::Range, offset))?;
        occurrence.enclosing_range = typed_enclosing.or(enclosing);
        Ok((!occurrence.symbol.is_empty()).then_some(occurrence))
    }
}

fn symbol_text<'a>(message: Message<'a>, limits: &Limits) -> Result<&'a str, Error> {
    message.text("bytes of a symbol", limits.symbol_bytes)
}

impl<'a> SymbolInformation<'a> {
    fn parse(mut message: Message<'a>, limits: &Limits) -> Result<Self, Error> {
        let offset = message.offset();
        let mut information = Self::default();
        while let Some((field, value)) = message.next_field()? {
            match field {
                1 => information.symbol = symbol_text(value.bytes("symbol", offset)?, limits)?,
                4 => {
                    let message = value.bytes("relationship", offset)?;
                    let full = information.relationships.len() as u64 >= limits.relationships;
                    check(full, "relationships of a symbol", limits.relationships, message)?;
                    information.relationships.push(Relationship::parse(message, limits)?);
                }
                5 => information.kind = SymbolKind(value.number("kind", offset)? as u32),
                6 => information.display_name = symbol_text(value.bytes("display name", offset)?, limits)?,
                8 => {
                    information.enclosing_symbol =
                        symbol_text(value.bytes("enclosing symbol", offset)?, limits)?;
                }
                _ => {}
            }
        }
        if information.symbol.is_empty() {
            return Err(Error::new(Problem::SymbolMissing, offset));
        }
        Ok(information)
    }
}

impl<'a> Relationship<'a> {
    fn parse(mut message: Message<'a>, limits: &Limits) -> Result<Self, Error> {
        let offset = message.offset();
        let mut relationship = Self::default();
        while let Some((field, value)) = message.next_field()? {
            let flag = match field {
                1 => {
                    relationship.symbol = symbol_text(value.bytes("symbol", offset)?, limits)?;
                    continue;
                }
                2 => &mut relationship.is_reference,
                3 => &mut relationship.is_implementation,
                4 => &mut relationship.is_type_definition,
                5 => &mut relationship.is_definition,
                _ => continue,
            };
            *flag = value.number("relationship", offset)? != 0;
        }
        if relationship.symbol.is_empty() {
            return Err(Error::new(Problem::SymbolMissing, offset));
        }
        Ok(relationship)
    }
}
