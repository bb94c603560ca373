//! The text by which SCIP names a symbol, parsed and printed.
//!
//! `<scheme> <manager> <package> <version> <descriptors>`, or `local <id>` for what only its document can see. A space inside one of the
//! first four is doubled, and `.` represents an empty one. A descriptor ends in a character that denotes its kind, and a name with other
//! characters than those of simple identifiers is written between backticks.

use std::fmt;

/// The parts of a symbol's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A symbol that only its document can see.
    Local(String),
    /// Any other.
    Global {
        /// The indexer or the notation.
        scheme: String,
        /// The package manager.
        manager: String,
        /// The package.
        package: String,
        /// The version of the package.
        version: String,
        /// The descriptors from the outermost namespace to the symbol.
        descriptors: Vec<Descriptor>,
    },
}

/// A step on the way from the package to the symbol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: DescriptorKind,
    /// Distinguishes a method from others of its name.
    pub disambiguator: String,
}

/// The kind of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DescriptorKind {
    /// `name/`
    Namespace,
    /// `name#`
    Type,
    /// `name.`
    Term,
    /// `name(disambiguator).`
    Method,
    /// `[name]`
    TypeParameter,
    /// `(name)`
    Parameter,
    /// `name:`
    Meta,
    /// `name!`
    Macro,
}

/// The reason why a text does not name a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolError {
    /// It ends too early.
    End,
    /// The id of a local symbol is not a simple identifier.
    LocalId,
    /// A name is empty, or has a character that is allowed only between backticks.
    Name,
    /// A descriptor does not end in a character that denotes a kind.
    Suffix,
}

impl fmt::Display for SymbolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::End => "the symbol ends too early",
            Self::LocalId => "the id of the local symbol is not a simple identifier",
            Self::Name => "a name in the symbol is empty, or needs backticks",
            Self::Suffix => "a descriptor of the symbol does not end as one does",
        })
    }
}

impl std::error::Error for SymbolError {}

const fn is_simple(character: u8) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, b'_' | b'+' | b'-' | b'$')
}

fn is_simple_text(text: &str) -> bool {
    text.bytes().all(is_simple)
}

impl Symbol {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// If it does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, SymbolError> {
        if let Some(id) = text.strip_prefix("local ") {
            let sound = !id.is_empty() && is_simple_text(id);
            return if sound { Ok(Self::Local(id.to_owned())) } else { Err(SymbolError::LocalId) };
        }
        let mut parser = Parser { rest: text };
        let scheme = parser.field()?;
        if scheme.is_empty() {
            return Err(SymbolError::Name);
        }
        let mut optional = || parser.field().map(|field| if field == "." { String::new() } else { field });
        let (manager, package, version) = (optional()?, optional()?, optional()?);
        let mut descriptors = Vec::new();
        while !parser.rest.is_empty() {
            descriptors.push(parser.descriptor()?);
        }
        if descriptors.is_empty() {
            return Err(SymbolError::End);
        }
        Ok(Self::Global { scheme, manager, package, version, descriptors })
    }

    /// Checks whether a symbol is one that only its document can see.
    #[must_use]
    pub fn is_local(text: &str) -> bool {
        text.starts_with("local ")
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    /// Reads a field up to a single space.
    fn field(&mut self) -> Result<String, SymbolError> {
        self.escaped(' ')
    }

    /// Reads a text up to a delimiter, which is doubled where it belongs to the text.
    fn escaped(&mut self, delimiter: char) -> Result<String, SymbolError> {
        let mut text = String::new();
        loop {
            let at = self.rest.find(delimiter).ok_or(SymbolError::End)?;
            text.push_str(&self.rest[..at]);
            self.rest = &self.rest[at + 1..];
            match self.rest.strip_prefix(delimiter) {
                Some(rest) => {
                    text.push(delimiter);
                    self.rest = rest;
                }
                None => return Ok(text),
            }
        }
    }

    fn name(&mut self) -> Result<String, SymbolError> {
        let name = if let Some(rest) = self.rest.strip_prefix('`') {
            self.rest = rest;
            self.escaped('`')?
        } else {
            let end = self.rest.bytes().position(|byte| !is_simple(byte)).unwrap_or(self.rest.len());
            let (name, rest) = self.rest.split_at(end);
            self.rest = rest;
            name.to_owned()
        };
        if name.is_empty() { Err(SymbolError::Name) } else { Ok(name) }
    }

    fn accept(&mut self, suffix: &str) -> Result<(), SymbolError> {
        self.rest = self.rest.strip_prefix(suffix).ok_or(SymbolError::Suffix)?;
        Ok(())
    }

    fn descriptor(&mut self) -> Result<Descriptor, SymbolError> {
        for (open, close, kind) in
            [("(", ")", DescriptorKind::Parameter), ("[", "]", DescriptorKind::TypeParameter)]
        {
            if let Some(rest) = self.rest.strip_prefix(open) {
                self.rest = rest;
                let name = self.name()?;
                self.accept(close)?;
                return Ok(Descriptor::new(name, kind));
            }
        }
        let name = self.name()?;
        let mut rest = self.rest.chars();
        let suffix = rest.next().ok_or(SymbolError::End)?;
        self.rest = rest.as_str();
        let kind = match suffix {
            '/' => DescriptorKind::Namespace,
            '#' => DescriptorKind::Type,
            '.' => DescriptorKind::Term,
            ':' => DescriptorKind::Meta,
            '!' => DescriptorKind::Macro,
            '(' => {
                // The disambiguator may be missing.
                let disambiguator = if self.rest.starts_with(')') { String::new() } else { self.name()? };
                self.accept(").")?;
                return Ok(Descriptor { disambiguator, ..Descriptor::new(name, DescriptorKind::Method) });
            }
            _ => return Err(SymbolError::Suffix),
        };
        Ok(Descriptor::new(name, kind))
    }
}

impl Descriptor {
    /// Creates a descriptor without a disambiguator.
    #[must_use]
    pub const fn new(name: String, kind: DescriptorKind) -> Self {
        Self { name, kind, disambiguator: String::new() }
    }
}

/// A text between backticks, unless it is simple.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_simple_text(self.0) {
            return out.write_str(self.0);
        }
        write!(out, "`{}`", self.0.replace('`', "``"))
    }
}

impl fmt::Display for Descriptor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Name(&self.name);
        match self.kind {
            DescriptorKind::Namespace => write!(out, "{name}/"),
            DescriptorKind::Type => write!(out, "{name}#"),
            DescriptorKind::Term => write!(out, "{name}."),
            DescriptorKind::Method => write!(out, "{name}({}).", Name(&self.disambiguator)),
            DescriptorKind::TypeParameter => write!(out, "[{name}]"),
            DescriptorKind::Parameter => write!(out, "({name})"),
            DescriptorKind::Meta => write!(out, "{name}:"),
            DescriptorKind::Macro => write!(out, "{name}!"),
        }
    }
}

impl fmt::Display for Symbol {
    /// Writes the text that [`parse`](Self::parse) reads back as the same symbol, if the symbol came from there.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(id) => write!(out, "local {id}"),
            Self::Global { scheme, manager, package, version, descriptors } => {
                for field in [scheme, manager, package, version] {
                    let field = if field.is_empty() { "." } else { field };
                    write!(out, "{} ", field.replace(' ', "  "))?;
                }
                descriptors.iter().try_for_each(|descriptor| descriptor.fmt(out))
            }
        }
    }
}
