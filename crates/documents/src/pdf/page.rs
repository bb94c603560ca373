//! Carries out the operators of a page as far as they place and show text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId};

use super::font::Font;
use super::matrix::Matrix;
use crate::text::Text;

/// Maximum number of bytes that the content of a page, or of a form on it, may unpack to.
const CONTENT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum number of operators of a document. Forms can show forms, so that few bytes are many operators.
const OPERATORS_MAX: usize = 50_000_000;
/// Deepest nesting of forms, and most states that are saved at a time.
const FORMS_MAX: usize = 8;
const STATES_MAX: usize = 256;
/// Maximum number of nodes above a page that are asked for its resources.
const PARENTS_MAX: usize = 64;

/// Distances in relation to the size of the font: a gap that is a space, one between columns, …
const GAP: f32 = 0.15;
const COLUMN: f32 = 2.0;
/// … and how far a line, and a paragraph, is below the one before.
const LINE: f32 = 0.5;
const PARAGRAPH: f32 = 1.8;

/// Reads the pages of a document.
pub(super) struct Reader<'d> {
    document: &'d Document,
    /// The fonts that were read.
    fonts: HashMap<ObjectId, Rc<Font<'d>>>,
    operators_left: usize,
}

impl<'d> Reader<'d> {
    /// A reader of a document.
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, fonts: HashMap::new(), operators_left: OPERATORS_MAX }
    }

    /// Appends the text of a page, as far as it can be read.
    pub(super) fn page(&mut self, page: ObjectId, text: &mut Text) {
        let Ok(content) = self.document.get_page_content_with_limit(page, CONTENT_BYTES_MAX) else { return };
        let resources = resources_of(self.document, page);
        let mut place = Place { text, last: None };
        Run::new(self, &mut place, resources, State::new(), 0).run(&content);
    }

    /// The font of a name.
    fn font(&mut self, resources: Option<&'d Dictionary>, name: &[u8]) -> Option<Rc<Font<'d>>> {
        let document = self.document;
        let fonts = resources?.get_deref(b"Font", document).and_then(Object::as_dict).ok()?;
        match fonts.get(name).ok()? {
            Object::Dictionary(font) => Some(Rc::new(Font::new(document, font))),
            Object::Reference(id) => {
                if let Some(font) = self.fonts.get(id) {
                    return Some(Rc::clone(font));
                }
                let font = Rc::new(Font::new(document, document.get_dictionary(*id).ok()?));
                self.fonts.insert(*id, Rc::clone(&font));
                Some(font)
            }
            _ => None,
        }
    }
}

/// The resources of a page, which it can have from the nodes above it.
fn resources_of(document: &Document, page: ObjectId) -> Option<&Dictionary> {
    let mut node = document.get_dictionary(page).ok()?;
    for _ in 0..PARENTS_MAX {
        if let Ok(resources) = node.get_deref(b"Resources", document).and_then(Object::as_dict) {
            return Some(resources);
        }
        node = node.get_deref(b"Parent", document).and_then(Object::as_dict).ok()?;
    }
    None
}

/// The text of a page, and the place up to which it was written.
struct Place<'t> {
    text: &'t mut Text,
    /// End of the last string, and the size of its font.
    last: Option<((f32, f32), f32)>,
}

impl Place<'_> {
    /// Appends a string that begins at a place, in a direction, in a font of a size. White space represents its distance from the previous
    /// string.
    fn show(&mut self, shown: &str, (x, y): (f32, f32), (right, up): (f32, f32), size: f32) {
        if let Some(((last_x, last_y), last_size)) = self.last {
            let (dx, dy, em) = (x - last_x, y - last_y, size.max(last_size));
            let (along, across) = (dx * right + dy * up, (dx * up - dy * right).abs());
            if across > PARAGRAPH * em {
                self.text.paragraph();
            } else if across > LINE * em || along < -COLUMN * em {
                self.text.end_line();
            } else if along > COLUMN * em {
                self.text.tab();
            } else if along > GAP * em {
                self.text.space();
            }
        }
        if shown.starts_with(char::is_whitespace) {
            self.text.space();
        }
        self.text.push(&spelled_out(shown.trim()));
        if shown.ends_with(char::is_whitespace) {
            self.text.space();
        }
    }
}

/// A text with the letters of its ligatures, as people write and search them.
fn spelled_out(text: &str) -> Cow<'_, str> {
    let is_ligature = |c: char| ('\u{fb00}'..='\u{fb04}').contains(&c);
    if !text.contains(is_ligature) {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{fb00}' => spelled.push_str("ff"),
            '\u{fb01}' => spelled.push_str("fi"),
            '\u{fb02}' => spelled.push_str("fl"),
            '\u{fb03}' => spelled.push_str("ffi"),
            '\u{fb04}' => spelled.push_str("ffl"),
            c => spelled.push(c),
        }
    }
    Cow::Owned(spelled)
}

/// The state that operators set, and that `q` saves.
#[derive(Clone)]
struct State<'d> {
    /// From the coordinates of the content to those of the page.
    transformation: Matrix,
    font: Option<Rc<Font<'d>>>,
    size: f32,
    character_space: f32,
    word_space: f32,
    stretch: f32,
    leading: f32,
}

impl State<'_> {
    fn new() -> Self {
        Self {
            transformation: Matrix::IDENTITY,
            font: None,
            size: 0.0,
            character_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
        }
    }
}

/// The operators of a page or a form, while they are carried out.
struct Run<'r, 'd, 't> {
    reader: &'r mut Reader<'d>,
    place: &'r mut Place<'t>,
    resources: Option<&'d Dictionary>,
    state: State<'d>,
    saved: Vec<State<'d>>,
    /// Starts of the next string, and of the current line.
    string_at: Matrix,
    line_at: Matrix,
    /// Number of enclosing forms.
    depth: usize,
}

impl<'r, 'd, 't> Run<'r, 'd, 't> {
    fn new(
        reader: &'r mut Reader<'d>,
        place: &'r mut Place<'t>,
        resources: Option<&'d Dictionary>,
        state: State<'d>,
        depth: usize,
    ) -> Self {
        let (string_at, line_at) = (Matrix::IDENTITY, Matrix::IDENTITY);
        Self { reader, place, resources, state, saved: Vec::new(), string_at, line_at, depth }
    }

    fn run(&mut self, content: &[u8]) {
        let Ok(content) = Content::decode(content) else { return };
        for operation in &content.operations {
            if self.reader.operators_left == 0 || self.place.text.is_full() {
                return;
            }
            self.reader.operators_left -= 1;
            self.operate(operation);
        }
    }

    fn operate(&mut self, Operation { operator, operands }: &Operation) {
        let number = |at: usize| operands.get(at).map_or(0.0, to_number);
        match operator.as_str() {
            "q" if self.saved.len() < STATES_MAX => self.saved.push(self.state.clone()),
            "Q" => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            "cm" => {
                let matrix = to_matrix(operands).unwrap_or(Matrix::IDENTITY);
                self.state.transformation = matrix.then(self.state.transformation);
            }
            "Do" => self.form(operands),
            "BT" => self.begin_line(Matrix::IDENTITY),
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok()).unwrap_or_default();
                self.state.font = self.reader.font(self.resources, name);
                self.state.size = number(1);
            }
            "Tc" => self.state.character_space = number(0),
            "Tw" => self.state.word_space = number(0),
            "Tz" => self.state.stretch = number(0) / 100.0,
            "TL" => self.state.leading = number(0),
            "Tm" => self.begin_line(to_matrix(operands).unwrap_or(Matrix::IDENTITY)),
            "Td" => self.next_line(number(0), number(1)),
            "TD" => {
                self.state.leading = -number(1);
                self.next_line(number(0), number(1));
            }
            "T*" => self.next_line(0.0, -self.state.leading),
            "Tj" | "TJ" => self.show_all(operands),
            "'" => {
                self.next_line(0.0, -self.state.leading);
                self.show_all(operands);
            }
            "\"" => {
                (self.state.word_space, self.state.character_space) = (number(0), number(1));
                self.next_line(0.0, -self.state.leading);
                self.show_all(operands.get(2..).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn begin_line(&mut self, at: Matrix) {
        (self.string_at, self.line_at) = (at, at);
    }

    fn next_line(&mut self, x: f32, y: f32) {
        self.begin_line(Matrix::shift(x, y).then(self.line_at));
    }

    /// Shows strings, and the strings of a list, where numbers move the next one to the left.
    fn show_all(&mut self, operands: &[Object]) {
        for operand in operands {
            match operand {
                Object::String(string, _) => self.show(string),
                Object::Array(each) => {
                    for element in each {
                        match element {
                            Object::String(string, _) => self.show(string),
                            other => {
                                let back = to_number(other) / 1000.0 * self.state.size * self.state.stretch;
                                self.string_at = Matrix::shift(-back, 0.0).then(self.string_at);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, string: &[u8]) {
        let State { font, size, character_space, word_space, stretch, transformation, .. } = &self.state;
        let Some(font) = font else { return };
        let shown = font.show(string);
        let at = self.string_at.then(*transformation);
        let (right, up) = at.axes();
        let (length, height) = (right.0.hypot(right.1), up.0.hypot(up.1));
        let direction = if length > 0.0 { (right.0 / length, right.1 / length) } else { (1.0, 0.0) };
        let size_on_page = size.abs() * height;
        if !shown.text.is_empty() {
            self.place.show(&shown.text, at.origin(), direction, size_on_page);
        }
        let spaces = shown.codes as f32 * character_space + shown.spaces as f32 * word_space;
        let advance = (shown.width / 1000.0 * size + spaces) * stretch;
        self.string_at = Matrix::shift(advance, 0.0).then(self.string_at);
        if !shown.text.trim().is_empty() {
            self.place.last = Some((self.string_at.then(*transformation).origin(), size_on_page));
        }
    }

    /// Carries out the operators of a form.
    fn form(&mut self, operands: &[Object]) {
        let document = self.reader.document;
        let stream = self
            .resources
            .and_then(|resources| resources.get_deref(b"XObject", document).and_then(Object::as_dict).ok())
            .and_then(|forms| {
                let name = operands.first()?.as_name().ok()?;
                forms.get_deref(name, document).and_then(Object::as_stream).ok()
            });
        let Some(stream) = stream.filter(|_| self.depth < FORMS_MAX) else { return };
        let is_form = stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form");
        if !is_form {
            return;
        }
        let Ok(content) = stream.get_plain_content_with_limit(CONTENT_BYTES_MAX) else { return };
        let own = stream.dict.get_deref(b"Resources", document).and_then(Object::as_dict).ok();
        let matrix = stream.dict.get_deref(b"Matrix", document).and_then(Object::as_array).ok();
        let matrix = matrix.and_then(|matrix| to_matrix(matrix)).unwrap_or(Matrix::IDENTITY);
        let mut state = self.state.clone();
        state.transformation = matrix.then(state.transformation);
        Run::new(self.reader, self.place, own.or(self.resources), state, self.depth + 1).run(&content);
    }
}

/// The number that an object is; 0 for others.
fn to_number(object: &Object) -> f32 {
    object.as_float().ok().filter(|number| number.is_finite()).unwrap_or(0.0)
}

/// The transformation that six numbers are.
fn to_matrix(numbers: &[Object]) -> Option<Matrix> {
    let numbers: Vec<f32> = numbers.iter().take(6).map(to_number).collect();
    <[f32; 6]>::try_from(numbers).ok().map(Matrix)
}
