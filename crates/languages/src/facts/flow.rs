//! Data flow of a file: functions with their parameters, assignments, and calls with their arguments. Risk analysis
//! follows untrusted input along it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The data flow of one file. All ranges are byte offsets in its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Flow {
    /// Functions and methods, sorted by start; an outer one precedes its inner ones.
    pub functions: Vec<FunctionSpan>,
    /// Assignments and initialisations, sorted by start.
    pub assignments: Vec<Assignment>,
    /// Calls, sorted by start.
    pub calls: Vec<CallSite>,
    /// Returned values: the whole statement, or the expression.
    pub returns: Vec<Range<usize>>,
}

/// A function or method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSpan {
    /// Simple name.
    pub name: String,
    /// From its first decorator to its end.
    pub range: Range<usize>,
    /// 1-based.
    pub start_line: u32,
    /// Names of its parameters, in order.
    pub params: Vec<String>,
}

/// `targets = value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Names and chains assigned to.
    pub targets: Vec<String>,
    /// The value.
    pub value: Range<usize>,
    /// 1-based.
    pub line: u32,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSite {
    /// The callee as a chain of names with `.`: `os.system`.
    pub callee: String,
    /// From the callee to the end of the arguments.
    pub range: Range<usize>,
    /// The arguments, in order.
    pub arguments: Vec<Range<usize>>,
    /// 1-based.
    pub line: u32,
}
