//! The filter table: every filter field with the type of its value, what it is compared with, and its description. The JSON
//! schema, CLI flags, query language, documentation and SQL are derived from it.

use languages::facts::{CountKind, FactKind, Field, Flag};
use store::Counted;

/// One row of the table.
#[derive(Debug)]
pub struct FilterField {
    /// Name in JSON and in the query language.
    pub name: &'static str,
    /// Name on the command line, without `--`.
    pub cli_flag: &'static str,
    /// Type of the value.
    pub kind: ValueKind,
    /// Data that the value is compared with.
    pub target: FilterTarget,
    /// Description for people and models, one line.
    pub help: &'static str,
}

impl PartialEq for FilterField {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The type of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// One text.
    Text,
    /// One text: alternatives separated by commas.
    Alternatives,
    /// A text or a list of texts, as alternatives.
    TextOrList,
    /// A number, 0 or more.
    Number,
    /// `true`, or `false`, which matches only chunks that are known not to have the property.
    Boolean,
    /// `key`, `key=value`, a list of these, or an object.
    Pairs,
    /// An object, or a JSON text.
    Json,
}

/// Data that a filter field is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterTarget {
    /// The kind of the chunk.
    Kind,
    /// Names among these facts; one must equal the value.
    Names(&'static [Field]),
    /// Names among these facts, ignoring case; one must equal the value, or end with it behind a separator: `IOException` is
    /// the end of `java.io.IOException`. Type arguments do not count.
    EndsOfNames(&'static [Field]),
    /// Names among these facts; one must contain the value, ignoring case and white space.
    PartsOfNames(&'static [Field]),
    /// Like `PartsOfNames`, and also facts of flows from other chunks.
    Risk(&'static [Field]),
    /// The callees of the named definition, by resolved edges.
    CalledBy,
    /// Modules that the file imports.
    Imports,
    /// The signature, case-sensitive.
    Signature,
    /// A count that must be at least the value.
    Count(Counted),
    /// A property of the chunk that syntax decides: asynchronous, a generator, returns a value.
    Flag(Flag),
    /// Visibility.
    Visibility,
    /// Existence of any lint finding.
    AnyLint,
    /// The author of the file's last commit.
    LastAuthor,
    /// The authors of the chunk's lines.
    LineAuthors,
    /// Lines that the file's last commits added and deleted.
    Churn,
    /// Date of the file's last commit, at or after the value.
    ModifiedAfter,
    /// Age of the file's last commit in days, at most the value.
    ModifiedSince,
    /// The default branch that was indexed.
    Branch,
    /// A revision that has the file: a branch or a tag.
    Revision,
    /// The file's language.
    Language,
    /// The file's path.
    Path,
    /// The file's name.
    FileName,
    /// The file's extension.
    Extension,
    /// The lines of the chunk.
    Content,
    /// The file's metadata.
    Meta,
}

impl FilterField {
    /// Returns whether the field restricts the location (path, language, branch) rather than the content.
    #[must_use]
    pub fn is_location(&self) -> bool {
        matches!(
            self.target,
            FilterTarget::Path
                | FilterTarget::FileName
                | FilterTarget::Extension
                | FilterTarget::Language
                | FilterTarget::Branch
                | FilterTarget::Revision
        )
    }
}

macro_rules! fields {
    ($($name:literal $cli_flag:literal $kind:ident $target:expr, $help:literal;)*) => {
        /// All fields, in display order.
        pub static FIELDS: &[FilterField] =
            &[$(FilterField { name: $name, cli_flag: $cli_flag, kind: ValueKind::$kind, target: $target, help: $help }),*];
    };
}

use FilterTarget::{Count, EndsOfNames, Names, PartsOfNames, Risk};

fields! {
    "path" "path" TextOrList FilterTarget::Path, "Path contains it, or matches the glob or /regex/.";
    "file" "file" TextOrList FilterTarget::FileName, "As `path`, of the file name.";
    "ext" "ext" TextOrList FilterTarget::Extension, "File extension, with or without the dot.";
    "lang" "lang" Alternatives FilterTarget::Language, "Language by name or alias: rust, ts, c++.";
    "content" "content" Text FilterTarget::Content, "A line is exactly this text, or matches the /regex/.";
    "type" "type" Alternatives FilterTarget::Kind, "function, method, class, struct, interface, trait, enum, impl, module, type, variable, section, block.";
    "import" "import" Text FilterTarget::Imports, "Imports this module.";
    "calls" "calls" Text Names(&[Field::Call, Field::Caller]), "Calls this.";
    "calledBy" "called-by" Text FilterTarget::CalledBy, "Is called by this.";
    "uses" "uses" Text Names(&[Field::Use, Field::Read, Field::Member, Field::Write, Field::Call, Field::Param]), "Uses this identifier.";
    "signature" "signature" Text FilterTarget::Signature, "Signature contains this text, case-sensitive.";
    "param" "param" Text Names(&[Field::Param]), "Has a parameter of this name.";
    "decorator" "decorator" Text PartsOfNames(&[Field::Decorator]), "Decorator or annotation contains it.";
    "inferredType" "inferred-type" Text PartsOfNames(&[Field::Inferred, Field::Type, Field::ReturnType]), "A declared or inferred type contains it.";
    "returnType" "return-type" Text PartsOfNames(&[Field::ReturnType]), "Declared return type contains it.";
    "throws" "throws" Text EndsOfNames(&[Field::Throw]), "Throws, raises or panics with it.";
    "reads" "reads" Text PartsOfNames(&[Field::Read, Field::Member]), "Reads a name that contains it: req.body.";
    "writes" "writes" Text PartsOfNames(&[Field::Write]), "Assigns a name that contains it.";
    "mutates" "mutates" Text PartsOfNames(&[Field::Mutate]), "Assigns a member (a.b, a[]) that contains it.";
    "alias" "alias" Text EndsOfNames(&[Field::Alias]), "Defines an alias: a=b.c.";
    "awaits" "awaits" Text EndsOfNames(&[Field::Await]), "Awaits it.";
    "visibility" "visibility" Text FilterTarget::Visibility, "public, protected, package or private.";
    "extends" "extends" Text EndsOfNames(&[Field::Extends, Field::Implements]), "Extends or implements it.";
    "async" "async" Boolean FilterTarget::Flag(Flag::Async), "Is asynchronous.";
    "generator" "generator" Boolean FilterTarget::Flag(Flag::Generator), "Is a generator.";
    "returns" "returns" Boolean FilterTarget::Flag(Flag::Returns), "Returns a value.";
    "lint" "lint" Boolean FilterTarget::AnyLint, "Breaks a structural rule.";
    "branchesMin" "branches" Number Count(Counted::Branches), "At least this many branches.";
    "loopsMin" "loops" Number Count(Counted::Loops), "At least this many loops.";
    "breaksMin" "breaks" Number Count(Counted::Breaks), "At least this many breaks.";
    "continuesMin" "continues" Number Count(Counted::Continues), "At least this many continues.";
    "risk" "risk" Text Risk(&[Field::RiskTag]), "Risk tag; riskTag takes precedence.";
    "riskTag" "risk-tag" Text Risk(&[Field::RiskTag]), "Risk tag: command-exec, sql, http-input …";
    "riskSource" "risk-source" Text Risk(&[Field::RiskSource]), "Untrusted input: req.body.";
    "riskSink" "risk-sink" Text Risk(&[Field::RiskSink]), "Dangerous operation: exec, sql.query.";
    "riskCategory" "risk-category" Text Risk(&[Field::RiskCategory]), "Danger: command, sql, xss …";
    "riskFlow" "risk-flow" Text Risk(&[Field::RiskFlow]), "Flow to a sink: req.body->exec.";
    "author" "author" Alternatives FilterTarget::LastAuthor, "Author of the last commit contains it.";
    "chunkAuthor" "chunk-author" Text FilterTarget::LineAuthors, "An author of its lines contains it.";
    "modifiedAfter" "modified-after" Text FilterTarget::ModifiedAfter, "Last commit on or after: 2026-01-31.";
    "modifiedSince" "modified-since" Number FilterTarget::ModifiedSince, "Last commit at most this many days old.";
    "churnMin" "churn" Number FilterTarget::Churn, "Last commits changed at least this many lines.";
    "branch" "branch" Text FilterTarget::Branch, "Indexed on this git branch.";
    "rev" "rev" TextOrList FilterTarget::Revision, "On this indexed branch, tag or commit, or a glob.";
    "meta" "meta" Pairs FilterTarget::Meta, "Metadata: key, key=value, list or object.";
    "metaJson" "meta-json" Json FilterTarget::Meta, "Metadata as a JSON object.";
}

impl FilterTarget {
    /// Returns the kind of fact that a language must extract for this filter; `None` if it needs none.
    #[must_use]
    pub fn syntax(self) -> Option<FactKind> {
        Some(match self {
            Self::Names(fields) | Self::EndsOfNames(fields) | Self::PartsOfNames(fields) => {
                FactKind::Fields(fields)
            }
            Self::Imports => FactKind::Fields(&[Field::Import]),
            // Risk rules match calls.
            Self::Risk(_) | Self::CalledBy => FactKind::Fields(&[Field::Call]),
            Self::Count(counted) => FactKind::Counts(count_kind(counted)),
            Self::Flag(flag) => FactKind::Flag(flag),
            Self::AnyLint => FactKind::Flag(Flag::Lint),
            Self::Visibility => FactKind::Fields(&[Field::Visibility]),
            _ => return None,
        })
    }
}

/// Returns the count of the syntax that fills a column.
fn count_kind(counted: Counted) -> CountKind {
    match counted {
        Counted::Branches => CountKind::Branches,
        Counted::Loops => CountKind::Loops,
        Counted::Breaks => CountKind::Breaks,
        Counted::Continues => CountKind::Continues,
    }
}

/// Returns the field with this name or CLI flag, ignoring case.
#[must_use]
pub fn field(word: &str) -> Option<&'static FilterField> {
    // Which of the two words a language writes makes no difference here.
    let word = if word.eq_ignore_ascii_case("implements") { "extends" } else { word };
    FIELDS
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case(word) || field.cli_flag.eq_ignore_ascii_case(word))
}

/// Returns the name of the field that a word means, as the parser of queries wants it.
#[must_use]
pub fn field_name(word: &str) -> Option<&'static str> {
    field(word).map(|field| field.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_flag() {
        for known in FIELDS {
            assert_eq!(field(known.name), Some(known));
            assert_eq!(field(known.cli_flag).map(|f| f.name), Some(known.name), "--{}", known.cli_flag);
            assert!(known.help.len() <= 130 && known.help.ends_with(['.', '…']), "{}", known.name);
        }
        assert_eq!(field("nothing"), None);
    }
}
