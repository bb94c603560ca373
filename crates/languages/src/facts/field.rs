//! The fields of facts with their names and descriptions, and the facts of a chunk.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! fields {
    ($($variant:ident $code:literal $name:literal $help:literal;)*) => {
        /// A field of facts: a kind of value that chunks have. The set is closed; codes are stored and never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Field { $(#[doc = $help] $variant = $code,)* }

        impl Field {
            /// All fields, by code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in results and in the documentation.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Its description in one sentence.
            #[must_use]
            pub fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }
    };
}

fields! {
    Kind 1 "kind" "What the chunk is: function, method, class …";
    Flag 2 "flags" "What holds of a function: async, generator, returns; what is known not to hold: not-async.";
    Param 3 "params" "Names of parameters.";
    Type 4 "types" "Declared types of parameters, fields and variables.";
    Inferred 5 "inferredTypes" "Types that a value gives away: a literal, a constructor.";
    ReturnType 6 "returnTypes" "Declared types of what is returned.";
    Decorator 7 "decorators" "Decorators, annotations and attributes.";
    Modifier 8 "modifiers" "Modifiers as they are written: static, const, unsafe …";
    Visibility 9 "visibility" "Who may use it: public, protected, package or private, and the language's own word.";
    Extends 10 "extends" "Types it is derived from.";
    Implements 11 "implements" "Interfaces, traits and protocols it fulfils.";
    Import 12 "imports" "Modules that the file imports, as written, with their parents.";
    Export 13 "exports" "Names it offers to other files.";
    Call 14 "calls" "What is called: the whole chain and its last part.";
    Throw 15 "throws" "What is thrown, raised or panicked with.";
    Await 16 "awaits" "What is awaited.";
    Yield 17 "yields" "What a generator yields.";
    Read 18 "reads" "Names whose value is used.";
    Write 19 "writes" "Names that are assigned to.";
    Mutate 20 "mutates" "Members and elements that are assigned to: `a.b`, `a[]`.";
    Alias 21 "aliases" "Names that stand for another one: `a=b.c`.";
    Use 22 "uses" "Further identifiers: type names, labels, members.";
    Lint 23 "lint" "Structural rules that are broken.";
    RiskTag 24 "riskTags" "Tags of the risk rules that match.";
    RiskSource 25 "riskSources" "Where untrusted input comes in.";
    RiskSink 26 "riskSinks" "Dangerous operations.";
    RiskCategory 27 "riskCategories" "Categories of the sinks.";
    RiskFlow 28 "riskFlows" "Untrusted input that reaches a dangerous operation: `source->sink`.";
    Author 29 "authors" "Who wrote its lines.";
    Caller 30 "callers" "Functions in it that call something.";
    Member 31 "readMembers" "Members whose value is used, with what they belong to: `req.body`.";
}

/// Code for the ids of the names that a chunk defines. It is not a [`Field`], because only the ids are stored: the names are in
/// the list of definitions.
pub const DEFINED: i16 = 32;

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that a definition has or does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// It runs asynchronously.
    Async,
    /// It yields a sequence of values.
    Generator,
    /// It returns a value.
    Returns,
    /// It violates a lint rule; [`Field::Lint`] has the names of the rules.
    Lint,
}

impl Flag {
    /// The flags that only functions have.
    pub const OF_FUNCTIONS: &'static [Self] = &[Self::Async, Self::Generator, Self::Returns];

    /// The value under [`Field::Flag`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Generator => "generator",
            Self::Returns => "returns",
            Self::Lint => "lint",
        }
    }

    /// The value under [`Field::Flag`] if the flag is known not to apply. If that is unknown, neither value is stored.
    #[must_use]
    pub fn denied(self) -> &'static str {
        match self {
            Self::Async => "not-async",
            Self::Generator => "not-generator",
            Self::Returns => "not-returns",
            Self::Lint => "not-lint",
        }
    }
}

/// The facts of one chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Fields and values, sorted, without duplicates.
    pub values: Vec<(Field, String)>,
    /// Caller (`None` outside of functions) and callee of each call, in order, without duplicates.
    pub calls: Vec<(Option<String>, String)>,
    /// Numbers of control flow statements; `None` if the language's query does not count them.
    pub counts: Option<Counts>,
    /// Violations of lint rules, sorted by line.
    pub lint: Vec<Lint>,
    /// Its documentation, at most 300 characters.
    pub doc: Option<String>,
}

impl Facts {
    /// Checks whether a field has a value.
    #[must_use]
    pub fn has(&self, field: Field, value: &str) -> bool {
        self.values.iter().any(|(f, v)| *f == field && v == value)
    }

    /// The values of a field.
    pub fn values_of(&self, field: Field) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(f, _)| *f == field).map(|(_, value)| value.as_str())
    }
}

/// How often control flow turns in a chunk. `else`, `case` and `try` count as branches, as keywords do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// `if`, `else`, `switch`, `case`, `try`, `catch` and their like.
    pub branches: u16,
    /// `for`, `while`, `do`, `loop`.
    pub loops: u16,
    /// `break`.
    pub breaks: u16,
    /// `continue`, `next`.
    pub continues: u16,
    /// `return`.
    pub returns: u16,
}

/// A broken structural rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lint {
    /// 1-based.
    pub line: u32,
    /// Name of the rule: `todo`, `empty-catch`.
    pub rule: String,
}
