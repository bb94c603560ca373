//! A language's `facts.scm` query: the captures that it may use, and its matches in a tree.

use std::sync::OnceLock;

use tree_sitter::Node;

use super::field::{Field, Flag};
use crate::stop::{Stop, Stopped};
use crate::tree_query::{Captured, Matcher, Nodes, Query, capture_names};

/// Maximum number of captures in one file; a generated table could have any number.
const ITEMS_MAX: usize = 500_000;

macro_rules! roles {
    ($($variant:ident $capture:literal $help:literal;)*) => {
        /// The meaning of a capture in a `facts.scm`. A pattern may replace the text of the captured node with
        /// `(#set! value "…")`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Role { $(#[doc = $help] $variant,)* }

        impl Role {
            fn from_capture(capture: &str) -> Option<Self> {
                match capture { $($capture => Some(Self::$variant),)* _ => None }
            }

            /// Returns `true` if the capture is in the head of its declaration.
            pub(crate) fn is_in_heads(self) -> bool {
                matches!(self, Self::Visibility | Self::Modifier | Self::Decorator)
            }
        }
    };
}

roles! {
    Param "param" "A parameter's name.";
    Type "type" "The declared type of a parameter, a field or a variable.";
    Inferred "inferred" "The type of a value, as the value gives it away.";
    ReturnType "return_type" "The declared type of what is returned.";
    Returns "returns" "A place that returns a value: marks the function with the flag `returns`.";
    Decorator "decorator" "A decorator, annotation or attribute, with or without its mark.";
    Modifier "modifier" "A modifier.";
    Visibility "visibility" "A visibility, by keyword or by `#set!`.";
    Section "section" "A word that gives the definitions after it, up to the next one, their visibility.";
    Extends "extends" "A type that the definition is derived from.";
    Implements "implements" "An interface, trait or protocol that it fulfils.";
    Import "import" "What is imported: a path, quoted or not, lists in braces included.";
    Export "export" "A name that is exported.";
    Async "async" "Makes the definition around it asynchronous.";
    Generator "generator" "Makes the definition around it a generator.";
    Call "call" "What is called, without arguments.";
    Arguments "arguments" "The arguments of the call in the same match.";
    Throw "throw" "What is thrown: its name, or the expression that makes it.";
    Await "await" "What is awaited.";
    Yield "yield" "What is yielded; the node itself where nothing is.";
    Target "target" "What is assigned to.";
    Value "value" "What is assigned in the same match.";
    Identifier "identifier" "An identifier in an expression: read, unless another capture claims it.";
    Use "use" "An identifier elsewhere: a type's name, a label.";
    Branch "branch" "A branch statement, counted.";
    Loop "loop" "A loop statement, counted.";
    Break "break" "A break statement, counted.";
    Continue "continue" "A continue statement, counted.";
    Return "return" "A return statement, counted.";
    Comment "comment" "A comment.";
    Doc "doc" "A documentation string that is no comment.";
    Lint "lint" "A broken rule; `(#set! value \"rule-name\")` names it.";
}

/// The query of a language's folder, compiled on first use.
pub(crate) struct FactQuery {
    text: &'static str,
    features: OnceLock<QueryFeatures>,
    compiled: OnceLock<Result<Compiled, String>>,
}

impl FactQuery {
    /// The query with this text.
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, features: OnceLock::new(), compiled: OnceLock::new() }
    }

    /// The facts that it can extract, determined from its text without compiling it.
    pub(crate) fn features(&self) -> &QueryFeatures {
        self.features.get_or_init(|| QueryFeatures::new(self.text))
    }

    /// The compiled query.
    pub(crate) fn compiled(
        &self,
        language: impl FnOnce() -> tree_sitter::Language,
    ) -> Result<&Compiled, &str> {
        self.compiled.get_or_init(|| Compiled::new(&language(), self.text)).as_ref().map_err(String::as_str)
    }

    /// Its text.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &'static str {
        self.text
    }

    /// Returns `true` if it has been compiled.
    #[cfg(test)]
    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }
}

/// The facts that a query can extract.
pub(crate) struct QueryFeatures {
    roles: Vec<Role>,
    /// Visibility of definitions without an explicit one, by the kinds of the definitions around them: the lines
    /// `;! default-visibility public in interface` and, for all others, `;! default-visibility private`. `file` is the top of a file.
    default_visibility: Vec<(Vec<String>, String)>,
    /// Facts that the language does not have, although its captures suggest them: the line `;! without mutates returns`.
    without: Vec<String>,
}

/// A compiled query.
pub(crate) struct Compiled {
    query: Query,
    roles: Vec<Option<Role>>,
    /// The facts that it can extract.
    pub(super) features: QueryFeatures,
}

impl Compiled {
    /// Compiles the query. The error is for the maintainer of the language's folder.
    pub(super) fn new(language: &tree_sitter::Language, text: &str) -> Result<Self, String> {
        let query = Query::new(language, text)?;
        let roles = query.capture_names().map(|name| {
            // For the query's own predicates.
            if name.starts_with('_') {
                Ok(None)
            } else {
                Role::from_capture(name).map(Some).ok_or(format!("unknown capture @{name}"))
            }
        });
        let roles = roles.collect::<Result<_, _>>()?;
        tracing::debug!(patterns = query.pattern_count(), "read a query of facts");
        Ok(Self { query, roles, features: QueryFeatures::new(text) })
    }

    /// Returns `true` if the language has calls and control flow, so that names in it refer to definitions in code.
    pub(crate) fn is_code(&self) -> bool {
        self.features.has_role(Role::Call) && self.features.has_role(Role::Branch)
    }

    /// Names of the lint rules whose violations the query finds, sorted.
    #[cfg(test)]
    pub(super) fn lint_rules(&self) -> Vec<&str> {
        let captures = |pattern: usize| {
            let mut roles = self.roles.iter().enumerate();
            roles.any(|(at, role)| *role == Some(Role::Lint) && self.query.captures(pattern, at))
        };
        let patterns = (0..self.query.pattern_count()).filter(|pattern| captures(*pattern));
        let mut rules: Vec<&str> =
            patterns.filter_map(|pattern| self.query.setting(pattern, "value")).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// The roles of its captures.
    #[cfg(test)]
    pub(super) fn roles(&self) -> impl Iterator<Item = Role> {
        self.roles.iter().copied().flatten()
    }
}

impl QueryFeatures {
    /// Reads the captures and directives of a query's text.
    fn new(text: &str) -> Self {
        let mut roles: Vec<Role> = Vec::new();
        for role in capture_names(text).into_iter().filter_map(Role::from_capture) {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        let without = text.lines().filter_map(|line| line.strip_prefix(";! without "));
        let without = without.flat_map(|names| names.split_whitespace().map(str::to_owned)).collect();
        let directives = text.lines().filter_map(|line| line.strip_prefix(";! default-visibility "));
        let default_visibility = directives.map(|directive| {
            let (word, kinds) = directive.split_once(" in ").unwrap_or((directive, ""));
            (kinds.split_whitespace().map(str::to_owned).collect(), word.trim().to_owned())
        });
        let default_visibility = default_visibility.collect();
        Self { roles, default_visibility, without }
    }

    /// The visibility of a definition without an explicit one; `around` is the kind of the definition that encloses it.
    pub(super) fn default_visibility(&self, around: Option<&str>) -> Option<&str> {
        let around = around.unwrap_or("file");
        let holds = |kinds: &[String]| kinds.iter().any(|kind| kind == around);
        let found = self.default_visibility.iter().find(|(kinds, _)| holds(kinds));
        let found = found.or_else(|| self.default_visibility.iter().find(|(kinds, _)| kinds.is_empty()));
        found.map(|(_, word)| word.as_str())
    }

    /// Checks whether the directive `without` excludes a fact.
    pub(super) fn excludes(&self, fact: &str) -> bool {
        self.without.iter().any(|name| name == fact)
    }

    /// Checks whether the query has a capture of this role, or a default visibility.
    pub(super) fn has_role(&self, role: Role) -> bool {
        self.roles.contains(&role) || (role == Role::Visibility && !self.default_visibility.is_empty())
    }

    /// The roles of its captures.
    #[cfg(test)]
    pub(super) fn roles(&self) -> &[Role] {
        &self.roles
    }
}

/// A kind of fact that queries can extract from the syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    /// Values of one of these fields.
    Fields(&'static [Field]),
    /// Numbers of control flow statements of this kind.
    Counts(CountKind),
    /// This flag.
    Flag(Flag),
}

/// A kind of control flow statement that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountKind {
    /// Branches.
    Branches,
    /// Loops.
    Loops,
    /// Breaks.
    Breaks,
    /// Continues.
    Continues,
}

impl QueryFeatures {
    /// Checks whether the query can extract facts of this kind.
    pub(crate) fn supports(&self, kind: FactKind) -> bool {
        let any = |roles: &[Role]| roles.iter().any(|role| self.has_role(*role));
        match kind {
            FactKind::Fields(fields) => {
                let has = |field: &&Field| !self.excludes(field.name());
                fields.iter().filter(has).any(|field| any(roles_of(*field)))
            }
            FactKind::Counts(CountKind::Branches) => any(&[Role::Branch]),
            FactKind::Counts(CountKind::Loops) => any(&[Role::Loop]),
            FactKind::Counts(CountKind::Breaks) => any(&[Role::Break]),
            FactKind::Counts(CountKind::Continues) => any(&[Role::Continue]),
            FactKind::Flag(flag) if self.excludes(flag.as_str()) => false,
            FactKind::Flag(Flag::Async) => any(&[Role::Async]),
            FactKind::Flag(Flag::Generator) => any(&[Role::Generator, Role::Yield]),
            FactKind::Flag(Flag::Returns) => any(&[Role::Returns, Role::ReturnType]),
            FactKind::Flag(Flag::Lint) => any(&[Role::Lint]),
        }
    }
}

/// The captures that provide a field's values.
fn roles_of(field: Field) -> &'static [Role] {
    match field {
        Field::Param => &[Role::Param],
        Field::Type => &[Role::Type],
        Field::Inferred => &[Role::Inferred],
        Field::ReturnType => &[Role::ReturnType],
        Field::Decorator => &[Role::Decorator],
        Field::Modifier => &[Role::Modifier],
        Field::Visibility => &[Role::Visibility],
        Field::Extends => &[Role::Extends],
        Field::Implements => &[Role::Implements],
        Field::Import => &[Role::Import],
        Field::Export => &[Role::Export],
        Field::Call | Field::Caller => &[Role::Call],
        Field::Throw => &[Role::Throw],
        Field::Await => &[Role::Await],
        Field::Yield => &[Role::Yield],
        Field::Read | Field::Member => &[Role::Identifier],
        Field::Write | Field::Mutate => &[Role::Target],
        Field::Alias => &[Role::Value],
        Field::Use => &[Role::Use, Role::Identifier],
        _ => &[],
    }
}

/// A capture in a match.
pub(super) struct Item<'t, 'q> {
    pub(super) role: Role,
    pub(super) node: Node<'t>,
    /// A text that replaces that of the node.
    pub(super) set: Option<&'q str>,
    /// The arguments of a call, or the value of an assignment's target.
    pub(super) partner: Option<Node<'t>>,
}

/// All captures in a tree, in text order.
pub(crate) struct Items<'t, 'q>(pub(super) Vec<Item<'t, 'q>>);

impl<'t> Items<'t, '_> {
    /// Returns each capture with its node; the flag is `true` if the query replaces the node's text.
    pub(crate) fn captures(&self) -> impl Iterator<Item = (Role, Node<'t>, bool)> {
        self.0.iter().map(|item| (item.role, item.node, item.set.is_some()))
    }
}

/// Runs the query. The error is the reason why there are no facts.
pub(crate) fn items<'t, 'q>(
    text: &str,
    compiled: &'q Compiled,
    nodes: &Nodes<'t>,
    stop: &Stop<'_>,
) -> Result<Items<'t, 'q>, &'static str> {
    let role_of = |captured: &Captured| compiled.roles[usize::from(captured.capture)];
    let mut matcher = Matcher::new(&compiled.query, nodes, text, stop.deadline());
    let mut items = Vec::new();
    for at in 0..nodes.len() {
        stop.step(1).map_err(|Stopped| "facts_timeout")?;
        let in_time = matcher.at(at, &mut |hit| {
            stop.count(hit.captured.len());
            let node_of = |wanted: Role| {
                let found = hit.captured.iter().find(|captured| role_of(captured) == Some(wanted));
                found.map(|captured| nodes.node(captured.at))
            };
            let (arguments, value) = (node_of(Role::Arguments), node_of(Role::Value));
            for captured in hit.captured {
                let Some(role) = role_of(captured) else { continue };
                let partner = match role {
                    Role::Arguments | Role::Value => continue,
                    Role::Call => arguments,
                    Role::Target => value,
                    _ => None,
                };
                let set = compiled.query.setting(hit.pattern, "value");
                items.push(Item { role, node: nodes.node(captured.at), set, partner });
            }
        });
        if !in_time {
            return Err("facts_timeout");
        }
        if items.len() > ITEMS_MAX {
            return Err("too_many_facts");
        }
    }
    items
        .sort_by_key(|item: &Item<'_, '_>| (item.node.start_byte(), std::cmp::Reverse(item.node.end_byte())));
    Ok(Items(items))
}
