//! Presentations: the text of each slide after its mark, then that of its notes.

use std::collections::HashMap;

use super::package::Package;
use super::xml::{Element, Handler};
use crate::Unreadable;
use crate::text::Text;

/// Maximum number of slides that are read.
const SLIDES_MAX: usize = 10_000;
/// Elements whose texts are omitted: fallbacks for older programs, and fields, such as the number of the slide.
const SKIPPED: &[&[u8]] = &[b"Fallback", b"fld", b"oMath"];

/// Reads a presentation.
pub(super) fn read(package: &mut Package<'_>, text: &mut Text) -> Result<(), Unreadable> {
    let presentation = package.main_part("ppt/presentation.xml")?;
    let mut order = Order::default();
    package.require(&presentation, &mut order)?;
    let targets: HashMap<String, String> = package
        .relations(&presentation)?
        .into_iter()
        .map(|relation| (relation.id, relation.target))
        .collect();
    for (number, id) in order.slides.iter().enumerate() {
        if text.is_full() {
            break;
        }
        text.page(&format!("slide {}", number + 1));
        let Some(slide) = targets.get(id) else { continue };
        package.read(slide, &mut Shapes::new(text))?;
        let relations = package.relations(slide)?;
        let notes = relations.iter().find(|relation| relation.kind.ends_with("/notesSlide"));
        if let Some(notes) = notes {
            text.paragraph();
            package.read(&notes.target, &mut Shapes::new(text))?;
        }
    }
    Ok(())
}

/// Reads the order of the slides.
#[derive(Default)]
struct Order {
    /// Ids of relations.
    slides: Vec<String>,
}

impl Handler for Order {
    fn start(&mut self, element: &Element<'_>) {
        if element.name() == b"sldId" {
            self.slides.extend(element.relation());
        }
    }

    fn is_done(&self) -> bool {
        self.slides.len() >= SLIDES_MAX
    }
}

/// Reads the shapes of a slide, or of its notes.
struct Shapes<'t> {
    text: &'t mut Text,
    /// Numbers of open table cells and skipped elements.
    cells: usize,
    skipped: usize,
    in_text: bool,
}

impl<'t> Shapes<'t> {
    fn new(text: &'t mut Text) -> Self {
        Self { text, cells: 0, skipped: 0, in_text: false }
    }
}

impl Handler for Shapes<'_> {
    fn start(&mut self, element: &Element<'_>) {
        let name = element.name();
        if SKIPPED.contains(&name) {
            self.skipped += 1;
        }
        match name {
            _ if self.skipped > 0 => {}
            b"t" => self.in_text = true,
            b"tc" => self.cells += 1,
            b"br" if self.cells > 0 => self.text.space(),
            b"br" => self.text.end_line(),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if SKIPPED.contains(&name) {
            self.skipped = self.skipped.saturating_sub(1);
        }
        match name {
            _ if self.skipped > 0 => {}
            b"t" => self.in_text = false,
            b"p" if self.cells > 0 => self.text.space(),
            b"p" => self.text.end_line(),
            b"tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.text.tab();
            }
            b"tr" if self.cells == 0 => self.text.end_line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_text && self.skipped == 0 {
            self.text.push(text);
        }
    }

    fn is_done(&self) -> bool {
        self.text.is_full()
    }
}
