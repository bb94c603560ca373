//! Splits a file along its syntax tree into pieces: runs of whole rows of bounded size.

use tree_sitter::Node;

use super::cells::Cells;
use super::limits::ChunkLimits;
use super::lines::{Lines, Piece, node_rows};
use super::outline::Outline;
use super::stop::{Stop, Stopped};

/// Rows of a node that still have to be split.
struct Task<'t> {
    first: usize,
    last: usize,
    /// The node to descend into; `None`: split by lines.
    node: Option<Node<'t>>,
    /// Last row of the comments and attributes that precede the node.
    lead: Option<usize>,
    parent: Option<usize>,
}

impl Task<'_> {
    /// The rows before `border`, and those from it on. Either may have only a part of the node.
    fn cut(self, border: usize) -> (Self, Self) {
        let Self { first, last, node, lead, parent } = self;
        let before = lead.filter(|lead| lead + 1 < border);
        let after = lead.filter(|lead| *lead >= border);
        (
            Self { first, last: border - 1, node, lead: before, parent },
            Self { first: border, last, node, lead: after, parent },
        )
    }
}

/// Neighbouring children of a node that share rows or belong together.
struct Group<'t> {
    first: usize,
    last: usize,
    /// The child with the most rows.
    main: Node<'t>,
    lead: Option<usize>,
    only_leading: bool,
}

/// Splits the file along its tree. Uses a stack instead of recursion, because the nesting of an untrusted file is unbounded.
pub(super) fn split(
    root: Node<'_>,
    outline: &Outline<'_>,
    (lines, cells): (&Lines<'_>, &Cells),
    limits: &ChunkLimits,
    stop: &Stop<'_>,
) -> Result<Vec<Piece>, Stopped> {
    let mut pieces = Vec::new();
    if lines.count() == 0 {
        return Ok(pieces);
    }
    let all = Task { first: 0, last: lines.last_row(), node: Some(root), lead: None, parent: None };
    let mut tasks = descend(all, outline, lines, stop)?;
    while let Some(task) = tasks.pop() {
        stop.step(1)?;
        let task = match cells.border(task.first, task.last) {
            Some(border) => {
                let (task, rest) = task.cut(border);
                tasks.push(rest);
                task
            }
            None => task,
        };
        let chars = lines.chars(task.first, task.last);
        let whole = whole(outline, task.first, task.last);
        if stays_whole(outline, whole, (task.first, task.last), lines, limits, stop) {
            let Task { first, last, parent, .. } = task;
            pieces.push(Piece { first, last, chars, whole: whole.definition(), parent });
            continue;
        }
        let task = Task { parent: whole.definition().or(task.parent), ..task };
        let parent = task.parent;
        if task.node.is_none() {
            let cut = lines.cut(task.first, task.last, limits);
            pieces.extend(cut.into_iter().map(|piece| Piece { parent, ..piece }));
        } else {
            tasks.extend(descend(task, outline, lines, stop)?);
        }
    }
    Ok(pieces)
}

/// The outermost definitions within some rows.
#[derive(Clone, Copy)]
pub(super) enum Whole {
    None,
    One(usize),
    Several,
}

impl Whole {
    /// The definition, if there is exactly one.
    pub(super) fn definition(self) -> Option<usize> {
        match self {
            Self::One(definition) => Some(definition),
            Self::None | Self::Several => None,
        }
    }
}

/// Finds the outermost definitions within some rows.
pub(super) fn whole(outline: &Outline<'_>, first: usize, last: usize) -> Whole {
    let definitions = &outline.definitions;
    let Some(&from) = outline.large_starting(first, last).first() else { return Whole::None };
    let outer = &definitions[from];
    if outer.last_row > last {
        return Whole::Several;
    }
    // Names of one declaration share its extent; a definition that starts after it is another one.
    let next = outline.large_from(outer.end);
    if next.is_some_and(|d| d.first_row <= last) { Whole::Several } else { Whole::One(from) }
}

/// Checks whether rows with these definitions become one piece.
pub(super) fn stays_whole(
    outline: &Outline<'_>,
    whole: Whole,
    (first, last): (usize, usize),
    lines: &Lines<'_>,
    limits: &ChunkLimits,
    stop: &Stop<'_>,
) -> bool {
    let chars = lines.chars(first, last);
    match whole {
        Whole::None => chars <= limits.chars_target,
        // Small definitions, such as constants, may stay together; any that is large enough for its own chunk must not.
        Whole::Several => {
            chars <= limits.chars_target
                && outline
                    .large_starting(first, last)
                    .iter()
                    .inspect(|_| stop.count(1))
                    .map(|at| &outline.definitions[*at])
                    .all(|d| !d.stands_alone(lines.chars(d.first_row, d.last_row), limits))
        }
        Whole::One(at) => {
            let definition = &outline.definitions[at];
            let splits = definition.is_container() && definition.has_inner;
            chars <= if splits { limits.chars_target } else { limits.chars_max }
        }
    }
}

/// The parts of a task, in reverse order for the stack: the groups of its node's children. If all children share their
/// rows, the groups of the largest child, recursively; if there is no such child, a task that splits by lines. A lead that is
/// larger than the rest becomes a task of its own.
fn descend<'t>(
    task: Task<'t>,
    outline: &Outline<'_>,
    lines: &Lines<'_>,
    stop: &Stop<'_>,
) -> Result<Vec<Task<'t>>, Stopped> {
    let Task { first, last, lead, parent, mut node } = task;
    if let Some(lead) =
        lead.filter(|&lead| lead < last && 2 * lines.chars(first, lead) > lines.chars(first, last))
    {
        let rest = Task { first: lead + 1, last, node, lead: None, parent };
        return Ok(vec![rest, Task { first, last: lead, node: None, lead: None, parent }]);
    }
    while let Some(at) = node {
        let groups = groups(at, outline, first, last, stop)?;
        if groups.len() > 1 {
            return Ok(tasks(groups, first, last, parent));
        }
        node = groups.into_iter().next().map(|group| group.main).filter(|main| {
            let (first, last) = node_rows(*main);
            last > first
        });
    }
    Ok(vec![Task { first, last, node: None, lead: None, parent }])
}

/// Converts groups to tasks that cover `first..=last` without gaps, last one first.
fn tasks(groups: Vec<Group<'_>>, first: usize, last: usize, parent: Option<usize>) -> Vec<Task<'_>> {
    let starts: Vec<usize> = groups.iter().map(|group| group.first).collect();
    let mut tasks: Vec<_> = groups
        .into_iter()
        .enumerate()
        .map(|(at, group)| Task {
            first: if at == 0 { first } else { group.first },
            last: starts.get(at + 1).map_or(last, |next| next - 1),
            node: Some(group.main),
            lead: group.lead,
            parent,
        })
        .collect();
    tasks.reverse();
    tasks
}

fn groups<'t>(
    node: Node<'t>,
    outline: &Outline<'_>,
    first: usize,
    last: usize,
    stop: &Stop<'_>,
) -> Result<Vec<Group<'t>>, Stopped> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    while more {
        stop.step(1)?;
        let child = cursor.node();
        more = cursor.goto_next_sibling();
        let (from, to) = node_rows(child);
        // Skip children outside of the rows, because the node can be larger than the task.
        if child.start_byte() == child.end_byte() || to < first || from > last {
            continue;
        }
        let (from, to) = (from.max(first), to.min(last));
        let leading = outline.leading.contains(&child.id());
        match groups.last_mut() {
            Some(group) if from <= group.last || (group.only_leading && from <= group.last + 1) => {
                if group.only_leading && !leading {
                    group.lead = (from > group.last).then_some(group.last);
                    group.main = child;
                    group.only_leading = false;
                } else if height(child) > height(group.main) {
                    group.main = child;
                }
                group.last = group.last.max(to);
            }
            _ => groups.push(Group { first: from, last: to, main: child, lead: None, only_leading: leading }),
        }
    }
    Ok(groups)
}

fn height(node: Node<'_>) -> usize {
    let (first, last) = node_rows(node);
    last - first
}
