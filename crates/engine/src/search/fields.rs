//! The filter table: every field by which chunks are filtered, with its type, what it looks at, and its words for
//! people. Schema, CLI flags, query language, documentation and SQL are derived from it.

use languages::facts::{CountKind, Field, Flag, Syntax};
use store::Counted;

/// One row of the table.
#[derive(Debug)]
pub struct FilterField {
    /// Name in JSON and in the query language.
    pub name: &'static str,
    /// Name on the command line, without `--`.
    pub flag: &'static str,
    /// What may be given.
    pub kind: ValueKind,
    /// What it looks at.
    pub looks_at: LooksAt,
    /// One line for people and models.
    pub help: &'static str,
}

impl PartialEq for FilterField {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What may be given for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// One text.
    Text,
    /// One text with alternatives between commas.
    Alternatives,
    /// A text or a list of texts, as alternatives.
    TextOrList,
    /// A number from 0 on.
    Number,
    /// True, or false for the opposite.
    Flag,
    /// `key`, `key=value`, a list of such, or an object.
    Pairs,
    /// An object, or a text that is JSON.
    Json,
}

/// What a field looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksAt {
    /// The kind of the chunk.
    Kind,
    /// One of these facts, which must be the value itself.
    Names(&'static [Field]),
    /// One of these facts, which must contain the value; upper and lower case alike.
    PartsOfNames(&'static [Field]),
    /// The same, also of flows from other chunks.
    Risk(&'static [Field]),
    /// What the file imports.
    Imports,
    /// The signature, in its case.
    Signature,
    /// A count.
    Count(Counted),
    /// Something that holds, or is known not to.
    Holds(Flag),
    /// Who may use it.
    Visibility,
    /// Whether any structural rule is broken.
    AnyLint,
    /// The author of the file's last commit.
    LastAuthor,
    /// The authors of the chunk's lines.
    LineAuthors,
    /// Lines that the file's last commits added and deleted.
    Churn,
    /// A date from which the file was changed.
    ModifiedAfter,
    /// Days within which the file was changed.
    ModifiedSince,
    /// The branch that was indexed.
    Branch,
    /// The file's language.
    Language,
    /// The file's path.
    Path,
    /// The file's name.
    FileName,
    /// The file's extension.
    Extension,
    /// The file's metadata.
    Meta,
}

impl FilterField {
    /// Whether it says where to look rather than what to find.
    #[must_use]
    pub fn is_place(&self) -> bool {
        matches!(
            self.looks_at,
            LooksAt::Path | LooksAt::FileName | LooksAt::Extension | LooksAt::Language | LooksAt::Branch
        )
    }
}

macro_rules! fields {
    ($($name:literal $flag:literal $kind:ident $looks_at:expr, $help:literal;)*) => {
        /// All fields, in the order in which they are shown.
        pub static FIELDS: &[FilterField] =
            &[$(FilterField { name: $name, flag: $flag, kind: ValueKind::$kind, looks_at: $looks_at, help: $help }),*];
    };
}

use LooksAt::{Count, Holds, Names, PartsOfNames, Risk};

fields! {
    "path" "path" TextOrList LooksAt::Path, "Path contains it, or matches the glob or /regex/.";
    "file" "file" TextOrList LooksAt::FileName, "The same of the file's name alone.";
    "ext" "ext" TextOrList LooksAt::Extension, "File extension, with or without the dot.";
    "lang" "lang" Alternatives LooksAt::Language, "Language by name or alias: rust, ts, c++.";
    "type" "type" Alternatives LooksAt::Kind, "Kind: function, method, class, struct, interface, trait, enum, impl, module, type, variable, section, block.";
    "import" "import" Text LooksAt::Imports, "The file imports this module.";
    "calls" "calls" Text Names(&[Field::Call, Field::Caller]), "Calls this, or is this function and calls something.";
    "uses" "uses" Text Names(&[Field::Use, Field::Read, Field::Member, Field::Write, Field::Call, Field::Param]), "Uses this identifier.";
    "signature" "signature" Text LooksAt::Signature, "Signature contains this text, case-sensitive.";
    "param" "param" Text Names(&[Field::Param]), "Has a parameter of this name.";
    "decorator" "decorator" Text PartsOfNames(&[Field::Decorator]), "Decorator, annotation or attribute contains it.";
    "inferredType" "inferred-type" Text PartsOfNames(&[Field::Inferred, Field::Type, Field::ReturnType]), "A type of its values, declared or inferred, contains it.";
    "returnType" "return-type" Text PartsOfNames(&[Field::ReturnType]), "Declared return type contains it.";
    "throws" "throws" Text PartsOfNames(&[Field::Throw]), "Throws, raises or panics with it.";
    "reads" "reads" Text PartsOfNames(&[Field::Read, Field::Member]), "Reads a name that contains it: req.body.";
    "writes" "writes" Text PartsOfNames(&[Field::Write]), "Assigns a name that contains it.";
    "mutates" "mutates" Text PartsOfNames(&[Field::Mutate]), "Assigns a member or element (a.b, a[]) that contains it.";
    "alias" "alias" Text PartsOfNames(&[Field::Alias]), "Gives a name another name: a=b.c.";
    "awaits" "awaits" Text PartsOfNames(&[Field::Await]), "Awaits it.";
    "visibility" "visibility" Text LooksAt::Visibility, "public, protected, package or private.";
    "extends" "extends" Text PartsOfNames(&[Field::Extends, Field::Implements]), "Extends or implements it.";
    "async" "async" Flag Holds(Flag::Async), "Is asynchronous.";
    "generator" "generator" Flag Holds(Flag::Generator), "Is a generator.";
    "returns" "returns" Flag Holds(Flag::Returns), "Returns a value.";
    "lint" "lint" Flag LooksAt::AnyLint, "Breaks a structural rule.";
    "branchesMin" "branches" Number Count(Counted::Branches), "At least so many branches.";
    "loopsMin" "loops" Number Count(Counted::Loops), "At least so many loops.";
    "breaksMin" "breaks" Number Count(Counted::Breaks), "At least so many breaks.";
    "continuesMin" "continues" Number Count(Counted::Continues), "At least so many continues.";
    "risk" "risk" Text Risk(&[Field::RiskTag]), "Risk tag; riskTag wins over it.";
    "riskTag" "risk-tag" Text Risk(&[Field::RiskTag]), "Risk tag: command-exec, sql, http-input …";
    "riskSource" "risk-source" Text Risk(&[Field::RiskSource]), "Untrusted input comes in from it: req.body.";
    "riskSink" "risk-sink" Text Risk(&[Field::RiskSink]), "Dangerous operation: exec, sql.query.";
    "riskCategory" "risk-category" Text Risk(&[Field::RiskCategory]), "Category of the danger: command, sql, xss …";
    "riskFlow" "risk-flow" Text Risk(&[Field::RiskFlow]), "Input that reaches a sink: req.body->exec.";
    "author" "author" Alternatives LooksAt::LastAuthor, "Author of the file's last commit contains it.";
    "chunkAuthor" "chunk-author" Text LooksAt::LineAuthors, "An author of its lines contains it.";
    "modifiedAfter" "modified-after" Text LooksAt::ModifiedAfter, "File's last commit is from this date on: 2026-01-31.";
    "modifiedSince" "modified-since" Number LooksAt::ModifiedSince, "File's last commit is at most so many days old.";
    "churnMin" "churn" Number LooksAt::Churn, "Lines added and deleted by the file's last commits.";
    "branch" "branch" Text LooksAt::Branch, "The index was made on this git branch.";
    "meta" "meta" Pairs LooksAt::Meta, "Metadata of records and documents: key, key=value, a list or an object.";
    "metaJson" "meta-json" Json LooksAt::Meta, "The same as a JSON object.";
}

impl LooksAt {
    /// What the syntax of a language must tell for it; none where it does not look at syntax.
    #[must_use]
    pub fn syntax(self) -> Option<Syntax> {
        Some(match self {
            Self::Names(fields) | Self::PartsOfNames(fields) => Syntax::Fields(fields),
            Self::Imports => Syntax::Fields(&[Field::Import]),
            // Rules follow calls.
            Self::Risk(_) => Syntax::Fields(&[Field::Call]),
            Self::Count(counted) => Syntax::Counts(count_kind(counted)),
            Self::Holds(flag) => Syntax::Flag(flag),
            Self::AnyLint => Syntax::Flag(Flag::Lint),
            Self::Visibility => Syntax::Fields(&[Field::Visibility]),
            _ => return None,
        })
    }
}

/// What the syntax calls a counted column.
fn count_kind(counted: Counted) -> CountKind {
    match counted {
        Counted::Branches => CountKind::Branches,
        Counted::Loops => CountKind::Loops,
        Counted::Breaks => CountKind::Breaks,
        Counted::Continues => CountKind::Continues,
    }
}

/// The field that a word of the query language names: its name or its flag, in any case.
#[must_use]
pub fn field(word: &str) -> Option<&'static FilterField> {
    FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(word) || field.flag.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_field() {
        for known in FIELDS {
            assert_eq!(field(known.name), Some(known));
            assert_eq!(field(known.flag).map(|f| f.name), Some(known.name), "--{}", known.flag);
            assert!(known.help.len() <= 130 && known.help.ends_with(['.', '…']), "{}", known.name);
        }
        assert_eq!(field("nothing"), None);
    }
}
