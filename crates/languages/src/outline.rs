//! The outline of a file: its definitions and how they are nested. It comes from a syntax tree, or from the headings of a document.

use std::collections::HashSet;
use std::ops::Range;

use super::defined::DEFINITIONS_MAX;
use super::identifier::Marks;
use super::innermost::Innermost;
use super::limits::ChunkLimits;
use super::stop::{Stop, Stopped};

/// Longer names are truncated, because headings and CSS selectors can have any length.
pub(super) const NAME_CHARS_MAX: usize = 120;

/// A definition of the file, with its wrappers (decorators, `export`).
pub(super) struct Definition {
    /// First byte including wrappers, and one past the last.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) first_row: usize,
    pub(super) last_row: usize,
    /// Start of the definition itself, without wrappers; the signature runs from here …
    pub(super) head: usize,
    /// … to here: the start of the body, or the end of the definition.
    pub(super) body: usize,
    /// The row where its code begins, without the attributes above it.
    pub(super) code_row: usize,
    /// Place of the simple name …
    pub(super) name_row: usize,
    pub(super) name_start: usize,
    /// … and where the name begins as it is written: `a` of `a::b`.
    pub(super) written_start: usize,
    /// Row and byte where the attributes above it begin; its own start if there are none.
    pub(super) begin: (usize, usize),
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) qualified: String,
    /// Number of the enclosing definition.
    pub(super) parent: Option<usize>,
    /// `true` if it contains definitions other than fields and constants, apart from small ones.
    pub(super) has_inner: bool,
    /// `true` if it is inside of something on one line, and too small to affect chunk borders or to name a chunk.
    pub(super) small: bool,
    /// `true` if it is a member that is only listed: it owns no facts, encloses nothing, and its name is not among those that a chunk
    /// defines. It is small as well.
    pub(super) member: bool,
}

impl Definition {
    /// Returns `true` if the members of its kind are definitions: a class or a similar type, an `impl`, a module, a section.
    pub(super) fn is_container(&self) -> bool {
        !matches!(self.kind, "function" | "method" | "variable" | "type")
    }

    /// Checks whether it is large enough for a chunk of its own, a third of the target size. Constants and fields stay together.
    pub(super) fn stands_alone(&self, chars: usize, limits: &ChunkLimits) -> bool {
        self.kind != "variable" && 3 * chars >= limits.chars_target
    }

    /// Returns `true` if it is a function or a method.
    pub(super) fn is_callable(&self) -> bool {
        matches!(self.kind, "function" | "method") && !self.member
    }

    /// Returns `true` if functions inside it are methods.
    fn is_type(&self) -> bool {
        matches!(self.kind, "class" | "struct" | "interface" | "trait" | "enum" | "impl")
    }
}

/// The outline of a file: everything that the splitter needs besides the tree.
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    /// The way in which its language writes names.
    pub(super) marks: &'static Marks,
    /// Sorted by start; an outer definition precedes its inner ones.
    pub(super) definitions: Vec<Definition>,
    /// Anonymous functions that are passed to a call, such as the handlers of a web server; sorted by start. They do not affect
    /// chunk borders.
    pub(super) handlers: Vec<Definition>,
    /// Ids of nodes that belong to what follows them: comments, attributes.
    pub(super) leading: HashSet<usize>,
    /// Attributes in the heads of definitions, in text order.
    attributes: Vec<Range<usize>>,
    /// The definitions that are not small: their numbers.
    large: Vec<usize>,
    /// Definitions and handlers in the order of their names: the row of the name, and the number.
    names: Vec<(usize, usize)>,
    /// The innermost definition, and the innermost handler, around a byte.
    inner: Innermost,
    inner_handlers: Innermost,
    /// By number: the innermost callable definition that encloses it, possibly itself.
    callables: Vec<Option<usize>>,
    /// By number of a definition: one past the number of the last definition inside it.
    ends: Vec<usize>,
}

impl<'t> Outline<'t> {
    /// The outline of a text with definitions and handlers that are sorted and nested.
    pub(super) fn new(
        (text, marks): (&'t str, &'static Marks),
        definitions: Vec<Definition>,
        handlers: Vec<Definition>,
        leading: HashSet<usize>,
        attributes: Vec<Range<usize>>,
    ) -> Self {
        let ranges = |all: &[Definition]| {
            let end = |d: &Definition| if d.member { d.start } else { d.end };
            all.iter().map(|d| (d.start..end(d), d.parent)).collect::<Vec<(Range<usize>, _)>>()
        };
        let (inner, inner_handlers) =
            (Innermost::new(&ranges(&definitions)), Innermost::new(&ranges(&handlers)));
        let (callables, ends) = (callables(&definitions, handlers.len()), ends(&definitions));
        let all = definitions.iter().chain(&handlers);
        let mut names: Vec<_> = all.enumerate().map(|(at, d)| (d.name_row, d.name_start, at)).collect();
        names.sort_unstable();
        let names = names.into_iter().map(|(row, _, number)| (row, number)).collect();
        let large = (0..definitions.len()).filter(|at| !definitions[*at].small).collect();
        Self {
            text,
            marks,
            definitions,
            handlers,
            leading,
            attributes,
            large,
            names,
            inner,
            inner_handlers,
            callables,
            ends,
        }
    }
}

impl Outline<'_> {
    /// A definition by its number; handlers are counted after the definitions.
    pub(super) fn get(&self, number: usize) -> &Definition {
        let count = self.definitions.len();
        if number < count { &self.definitions[number] } else { &self.handlers[number - count] }
    }

    /// The parts of a range of the text that are not attributes of definitions, in text order.
    pub(super) fn without_attributes(&self, range: Range<usize>) -> impl Iterator<Item = &str> {
        let first = self.attributes.partition_point(|attribute| attribute.start < range.start);
        let inside = self.attributes[first..].iter().take_while(move |attribute| attribute.end <= range.end);
        let starts = std::iter::once(range.start).chain(inside.clone().map(|attribute| attribute.end));
        let ends = inside.map(|attribute| attribute.start).chain(std::iter::once(range.end));
        starts.zip(ends).filter_map(|(start, end)| self.text.get(start..end))
    }

    /// Numbers of the definitions whose names are in some rows, in text order.
    pub(super) fn named_in(&self, first: usize, last: usize) -> impl Iterator<Item = usize> {
        let from = self.names.partition_point(|(row, _)| *row < first);
        let here = self.names[from..].iter().take_while(move |(row, _)| *row <= last);
        here.map(|(_, number)| *number)
    }

    /// As [`named_in`](Self::named_in), at most [`DEFINITIONS_MAX`].
    pub(super) fn listed_in(&self, first: usize, last: usize) -> impl Iterator<Item = usize> {
        self.named_in(first, last).take(DEFINITIONS_MAX)
    }

    /// The numbers of the outermost definitions in a range of numbers, without those inside of them.
    pub(super) fn outermost_in(&self, numbers: Range<usize>) -> impl Iterator<Item = usize> {
        let first = Some(numbers.start).filter(|number| *number < numbers.end);
        std::iter::successors(first, move |number| {
            self.ends.get(*number).copied().filter(|next| *next < numbers.end)
        })
    }

    /// The numbers of the definitions inside of one.
    pub(super) fn inside_of(&self, number: usize) -> Range<usize> {
        number + 1..self.ends[number]
    }

    /// Checks whether a definition is the same as another one or inside it.
    pub(super) fn is_within(&self, inner: usize, outer: usize) -> bool {
        (outer..self.ends[outer]).contains(&inner)
    }

    /// The number of the innermost definition around a byte, where attributes count as part of a definition.
    pub(super) fn around(&self, at: usize) -> Option<usize> {
        let after = self.definitions.partition_point(|d| d.start <= at);
        let next =
            self.definitions.get(after).filter(|next| next.begin.1 <= at && !next.member).map(|_| after);
        let found = next.or_else(|| self.inner.at(at));
        let count = self.definitions.len();
        match (found, self.inner_handlers.at(at)) {
            (Some(found), Some(handler)) if self.definitions[found].start >= self.handlers[handler].start => {
                Some(found)
            }
            (_, Some(handler)) => Some(count + handler),
            (found, None) => found,
        }
    }

    /// The number of the innermost definition around a byte, without handlers.
    pub(super) fn definition_around(&self, at: usize) -> Option<usize> {
        self.inner.at(at)
    }

    /// The number of the innermost function, method or handler around a byte, where attributes do not count as part of it.
    pub(super) fn callable(&self, at: usize) -> Option<usize> {
        let around = self.around(at)?;
        // Only the attributes of a definition reach before its start.
        let within = if self.get(around).start > at { self.get(around).parent } else { Some(around) };
        self.callables[within?]
    }

    /// The definitions that start in some rows, outer ones first.
    pub(super) fn starting(&self, first: usize, last: usize) -> Range<usize> {
        let from = self.definitions.partition_point(|d| d.first_row < first);
        let to = self.definitions.partition_point(|d| d.first_row <= last);
        from..to.max(from)
    }

    /// As [`starting`](Self::starting), without the small ones.
    pub(super) fn large_starting(&self, first: usize, last: usize) -> &[usize] {
        let row = |at: &usize| self.definitions[*at].first_row;
        let from = self.large.partition_point(|at| row(at) < first);
        let to = self.large.partition_point(|at| row(at) <= last);
        &self.large[from..to.max(from)]
    }

    /// The first definition that starts at a byte or after it, without the small ones.
    pub(super) fn large_from(&self, byte: usize) -> Option<&Definition> {
        let next = self.large.partition_point(|at| self.definitions[*at].start < byte);
        self.large.get(next).map(|at| &self.definitions[*at])
    }
}

/// For each definition and then each handler, the innermost callable definition that encloses it, possibly itself. All handlers
/// are callable.
fn callables(definitions: &[Definition], handlers: usize) -> Vec<Option<usize>> {
    let mut callables: Vec<Option<usize>> = Vec::with_capacity(definitions.len() + handlers);
    for (number, definition) in definitions.iter().enumerate() {
        let outer = definition.parent.and_then(|parent| callables[parent]);
        callables.push(if definition.is_callable() { Some(number) } else { outer });
    }
    callables.extend((definitions.len()..definitions.len() + handlers).map(Some));
    callables
}

/// For each definition, one past the number of the last definition inside it.
fn ends(definitions: &[Definition]) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=definitions.len()).collect();
    for (number, definition) in definitions.iter().enumerate().rev() {
        if let Some(parent) = definition.parent {
            ends[parent] = ends[parent].max(ends[number]);
        }
    }
    ends
}

/// Finds each definition's parent, completes qualified names, and turns functions inside types into methods.
pub(super) fn nest(
    mut definitions: Vec<Definition>,
    separator: &str,
    stop: &Stop<'_>,
) -> Result<Vec<Definition>, Stopped> {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..definitions.len() {
        stop.step(1)?;
        let (start, end) = (definitions[at].start, definitions[at].end);
        // Names of one declaration (`let a, b`) share its extent and are siblings.
        while open.last().is_some_and(|&o| {
            definitions[o].end < end
                || definitions[o].end <= start
                || (definitions[o].start == start && definitions[o].end == end)
        }) {
            open.pop();
        }
        if let Some(&parent) = open.last() {
            definitions[parent].has_inner |= definitions[at].kind != "variable" && !definitions[at].small;
            let outer = &definitions[parent];
            let qualified = cut(
                format!("{}{separator}{}", outer.qualified, definitions[at].qualified),
                2 * NAME_CHARS_MAX,
            );
            let is_method = outer.is_type() && definitions[at].kind == "function";
            let definition = &mut definitions[at];
            definition.parent = Some(parent);
            definition.qualified = qualified;
            if is_method {
                definition.kind = "method";
            }
        }
        if !definitions[at].member {
            open.push(at);
        }
    }
    Ok(definitions)
}

/// Finds each handler's enclosing handler; their names are not qualified.
pub(super) fn nest_handlers(mut handlers: Vec<Definition>) -> Vec<Definition> {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..handlers.len() {
        while open.last().is_some_and(|&o| handlers[o].end <= handlers[at].start) {
            open.pop();
        }
        handlers[at].parent = open.last().copied();
        open.push(at);
    }
    handlers
}

/// At most `chars_max` characters of a text.
pub(super) fn cut(mut text: String, chars_max: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(chars_max) {
        text.truncate(at);
    }
    text
}
