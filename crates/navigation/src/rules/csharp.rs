//! C#: names across files. A path names a namespace, and types inside of it.

use super::{DEFAULT, Family, FreeNames, Located, Merging, Rules};
use crate::repository::Repository;

pub(super) const RULES: Rules = Rules {
    family: Family::CSharp,
    languages: &["csharp"],
    modules,
    package: |file| Some(file.interface.package.clone().unwrap_or_default()),
    outer_packages: true,
    namespaces_are_whole: true,
    members_visible: true,
    merging: Merging::InPackage,
    free_names: FreeNames::Builtin,
    types_apart: true,
    visible_extensions: true,
    global_stars: true,
    content_members: &[
        "Current", "Dequeue", "ElementAt", "Find", "First", "FirstOrDefault", "GetAwaiter", "GetResult",
        "GetValueOrDefault", "Last", "LastOrDefault", "Peek", "Pop", "Result", "Single", "SingleOrDefault",
        "Target", "Value",
    ],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Finds the namespace of a path, as it is written or seen from the namespaces around the file.
fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    if let Some(found) = super::package_and_rest(repository, Family::CSharp, path) {
        return vec![found];
    }
    let packages = repository.packages();
    let file = repository.files().get(from as usize);
    let mut around = file.and_then(|file| file.interface.package.as_deref());
    while let Some(outer) = around {
        if let Some(found) = packages.find(Family::CSharp, &format!("{outer}.{path}")) {
            return vec![Located::whole(crate::value::Module::Package(found))];
        }
        around = outer.rsplit_once('.').map(|(outer, _)| outer);
    }
    Vec::new()
}

/// Members of strings, collections, tasks and of every object.
const BUILTIN_MEMBERS: &[&str] = &[
    "Add", "AddRange", "Aggregate", "All", "Any", "Append", "AppendLine", "Cast", "Clear", "Close",
    "CompareTo", "Concat", "ConfigureAwait", "Contains", "ContainsKey", "CopyTo", "Count", "Dispose",
    "Distinct", "EndsWith", "Equals", "First", "FirstOrDefault", "Flush", "FlushAsync", "Format",
    "GetEnumerator", "GetHashCode", "GetType", "GroupBy", "HasValue", "IndexOf", "IndexOfAny", "Insert",
    "Invoke", "IsNullOrEmpty", "Join", "Key", "Last", "LastIndexOf", "LastOrDefault", "Length", "Max",
    "Message", "Min", "Name", "OfType", "OrderBy", "PadLeft", "PadRight", "Parse", "Read", "ReadAsync",
    "Remove", "Replace", "Result", "Reverse", "Select", "SelectMany", "SequenceEqual", "Single",
    "SingleOrDefault", "Skip", "Split", "StartsWith", "Substring", "Sum", "Take", "ToArray", "ToCharArray",
    "ToDictionary", "ToHashSet", "ToList", "ToLower", "ToString", "ToUpper", "Trim", "TrimEnd", "TrimStart",
    "TryGetValue", "TryParse", "Union", "Value", "Where", "Write", "WriteAsync", "WriteLine", "Zip",
];
