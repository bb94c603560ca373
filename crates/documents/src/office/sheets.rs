//! Workbooks: the rows of each sheet after its mark, the cells of a row separated by tabs. Cells without a value are omitted, and numbers
//! and dates appear as they are stored, without their format.

use std::collections::HashMap;

use super::package::{Package, target_of};
use super::xml::{Element, Handler};
use crate::Unreadable;
use crate::text::Text;

/// Maximum number of sheets that are read.
const SHEETS_MAX: usize = 1000;
/// Maximum number of texts that cells can share, and of bytes of all of them.
const SHARED_MAX: usize = 2_000_000;
const SHARED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum length of the value of a cell in bytes.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Reads a workbook.
pub(super) fn read(package: &mut Package<'_>, text: &mut Text) -> Result<(), Unreadable> {
    let workbook = package.main_part("xl/workbook.xml")?;
    let mut sheets = Sheets::default();
    package.require(&workbook, &mut sheets)?;
    let relations = package.relations(&workbook)?;
    let mut shared = Shared::default();
    package.read(target_of(&relations, "/sharedStrings", "xl/sharedStrings.xml"), &mut shared)?;
    let targets: HashMap<String, String> =
        relations.into_iter().map(|relation| (relation.id, relation.target)).collect();
    for (name, id) in &sheets.sheets {
        if text.is_full() {
            break;
        }
        text.page(&format!("sheet {name}"));
        if let Some(sheet) = targets.get(id) {
            package.read(sheet, &mut Rows::new(text, &shared))?;
        }
    }
    Ok(())
}

/// Reads the names of the sheets, with the ids of their relations.
#[derive(Default)]
struct Sheets {
    sheets: Vec<(String, String)>,
}

impl Handler for Sheets {
    fn start(&mut self, element: &Element<'_>) {
        if element.name() == b"sheet"
            && let (Some(name), Some(id)) = (element.attribute("name"), element.relation())
        {
            self.sheets.push((name, id));
        }
    }

    fn is_done(&self) -> bool {
        self.sheets.len() >= SHEETS_MAX
    }
}

/// The texts that cells name by a number.
#[derive(Default)]
struct Shared {
    /// All texts, one after another.
    all: String,
    /// The end of each.
    ends: Vec<usize>,
    in_text: bool,
    /// `true` if the text is a guide to pronunciation, which repeats the text.
    in_phonetic: bool,
}

impl Shared {
    fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)?;
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.all.get(start..end)
    }
}

impl Handler for Shared {
    fn start(&mut self, element: &Element<'_>) {
        match element.name() {
            b"t" => self.in_text = true,
            b"rPh" => self.in_phonetic = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"t" => self.in_text = false,
            b"rPh" => self.in_phonetic = false,
            b"si" => self.ends.push(self.all.len()),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_text && !self.in_phonetic {
            self.all.push_str(text);
        }
    }

    fn is_done(&self) -> bool {
        self.ends.len() >= SHARED_MAX || self.all.len() >= SHARED_BYTES_MAX
    }
}

/// Reads the rows of a sheet.
struct Rows<'t> {
    text: &'t mut Text,
    shared: &'t Shared,
    /// The type of the current cell, and its value so far.
    kind: String,
    value: String,
    in_value: bool,
    in_phonetic: bool,
}

impl<'t> Rows<'t> {
    fn new(text: &'t mut Text, shared: &'t Shared) -> Self {
        Self { text, shared, kind: String::new(), value: String::new(), in_value: false, in_phonetic: false }
    }

    /// Appends the cell that ends.
    fn add_cell(&mut self) {
        let value = match self.kind.as_str() {
            "s" => {
                let number = self.value.trim().parse::<usize>().ok();
                number.and_then(|number| self.shared.get(number)).unwrap_or("")
            }
            "b" if self.value.trim() == "1" => "TRUE",
            "b" => "FALSE",
            _ => self.value.as_str(),
        };
        if !value.trim().is_empty() {
            self.text.tab();
            // A row stays on its line.
            self.text.push(&value.trim().replace(['\n', '\t'], " "));
        }
    }
}

impl Handler for Rows<'_> {
    fn start(&mut self, element: &Element<'_>) {
        match element.name() {
            b"c" => {
                self.kind = element.attribute("t").unwrap_or_default();
                self.value.clear();
            }
            // The value of a cell, or its own text.
            b"v" | b"t" => self.in_value = true,
            b"rPh" => self.in_phonetic = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"c" => self.add_cell(),
            b"v" | b"t" => self.in_value = false,
            b"rPh" => self.in_phonetic = false,
            b"row" => self.text.end_line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_value && !self.in_phonetic && self.value.len() + text.len() <= VALUE_BYTES_MAX {
            self.value.push_str(text);
        }
    }

    fn is_done(&self) -> bool {
        self.text.is_full()
    }
}
