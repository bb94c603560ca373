//! The JSON of a notebook, as far as it is read. Everything else, such as outputs, takes no memory.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// Maximum number of cells of a notebook. The largest notebooks that people write have hundreds.
pub(super) const CELLS_MAX: usize = 10_000;
/// Maximum number of worksheets; there was never more than one.
const WORKSHEETS_MAX: usize = 4;

/// A notebook file.
#[derive(Debug, Deserialize)]
pub(super) struct NotebookFile {
    nbformat: u32,
    /// Cells of version 4 and later.
    #[serde(default)]
    cells: Option<Bounded<Cell, CELLS_MAX>>,
    /// Cells of earlier versions.
    #[serde(default)]
    worksheets: Option<Bounded<Worksheet, WORKSHEETS_MAX>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Worksheet {
    cells: Bounded<Cell, CELLS_MAX>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    language_info: Option<Named>,
    #[serde(default)]
    kernelspec: Option<Named>,
}

#[derive(Debug, Deserialize)]
struct Named {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    language: Option<String>,
}

/// A cell.
#[derive(Debug, Deserialize)]
pub(super) struct Cell {
    cell_type: String,
    /// Its text.
    #[serde(default, alias = "input", deserialize_with = "joined")]
    pub(super) source: String,
    /// The level of a heading, which was a cell of its own in version 3.
    #[serde(default)]
    level: Option<u8>,
}

/// The kind of a cell's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    /// Code.
    Code,
    /// Prose.
    Markdown,
    /// Anything else.
    Raw,
}

impl NotebookFile {
    /// Checks whether it has cells where its version puts them.
    pub(super) fn is_known(&self) -> bool {
        if self.nbformat >= 4 { self.cells.is_some() } else { self.worksheets.is_some() }
    }

    /// Returns its cells, in order.
    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell> {
        let own = self.cells.iter().flat_map(|cells| &cells.0);
        let sheets = self.worksheets.iter().flat_map(|sheets| &sheets.0);
        own.chain(sheets.flat_map(|sheet| &sheet.cells.0))
    }

    /// Returns the names of its language, the most reliable one first.
    pub(super) fn languages(&self) -> impl Iterator<Item = &str> {
        let Metadata { language_info, kernelspec } = &self.metadata;
        let info = language_info.iter().filter_map(|info| info.name.as_deref());
        let kernel =
            kernelspec.iter().flat_map(|kernel| [kernel.language.as_deref(), kernel.name.as_deref()]);
        info.chain(kernel.flatten())
    }
}

impl Cell {
    /// Returns the kind of its content.
    pub(super) fn kind(&self) -> CellKind {
        match self.cell_type.as_str() {
            "code" => CellKind::Code,
            "markdown" | "heading" => CellKind::Markdown,
            _ => CellKind::Raw,
        }
    }

    /// Returns the level, if the cell is a heading; else 0.
    pub(super) fn heading_level(&self) -> usize {
        let level = self.level.filter(|_| self.cell_type == "heading").map_or(0, usize::from);
        level.min(6)
    }
}

/// A list of at most `MAX` elements; a longer one is an error.
#[derive(Debug)]
struct Bounded<T, const MAX: usize>(Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Elements<T, const MAX: usize>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Elements<T, MAX> {
            type Value = Vec<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "a list of at most {MAX} elements")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = from.next_element()? {
                    if elements.len() == MAX {
                        return Err(de::Error::custom("too many elements"));
                    }
                    elements.push(element);
                }
                Ok(elements)
            }
        }

        from.deserialize_seq(Elements::<T, MAX>(std::marker::PhantomData)).map(Self)
    }
}

/// Reads a text that is given whole, or as a list of its lines.
fn joined<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    struct Source;

    impl<'de> Visitor<'de> for Source {
        type Value = String;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a text or a list of lines")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_unit<E: de::Error>(self) -> Result<String, E> {
            Ok(String::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<String, A::Error> {
            let mut text = String::new();
            while let Some(line) = from.next_element::<String>()? {
                text.push_str(&line);
            }
            Ok(text)
        }
    }

    from.deserialize_any(Source)
}
