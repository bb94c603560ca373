//! Splits the report of a scanner into items, wherever its lists are, so that a broken item does not affect the others.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::gaps::gaps;
use super::{Parts, ScannerFormat};
use crate::findings::json_path::text_at;
use crate::findings::split::{self, ItemSpan};

/// Largest value of an enclosing object that items see.
const PARENT_VALUE_BYTES_MAX: usize = 4096;

/// An item of a scanner's report.
#[derive(Debug)]
pub(in crate::findings) struct ScannerItem {
    pub(in crate::findings) bytes: Range<usize>,
    pub(in crate::findings) parent: Arc<ItemParent>,
    pub(in crate::findings) defect: Option<&'static str>,
}

/// A report of a scanner, split.
#[derive(Debug, Default)]
pub(in crate::findings) struct ScannerItems {
    /// Items in the order of the report.
    pub(in crate::findings) items: Vec<ScannerItem>,
    /// The scopes that the report covers completely.
    pub(in crate::findings) complete: BTreeSet<String>,
    /// The fields that say that something was not scanned.
    pub(in crate::findings) gaps: BTreeSet<&'static str>,
}

/// The enclosing context of an item.
#[derive(Debug, Default)]
pub(in crate::findings) struct ItemParent {
    /// Format and target: items of another scope are other findings.
    pub(in crate::findings) scope: String,
    /// The enclosing object without its lists and objects.
    pub(in crate::findings) fields: Map<String, Value>,
}

/// Returns whether a text is a report of the format, or a list of them.
pub(in crate::findings) fn is_report(text: &[u8], format: &ScannerFormat) -> bool {
    let at = split::root_start(text);
    if !format.is_list || text.get(at) != Some(&b'[') {
        return has_marks(text, at, format);
    }
    split::array_elements(text, at).iter().any(|element| has_marks(text, element.bytes.start, format))
}

fn has_marks(text: &[u8], at: usize, format: &ScannerFormat) -> bool {
    let names: Vec<&[u8]> = split::fields(text, at).into_iter().map(|(name, _)| name).collect();
    format.marks.iter().any(|marks| marks.iter().all(|mark| names.contains(&mark.as_bytes())))
}

/// Splits a report into its items.
pub(in crate::findings) fn scanner_items(text: &[u8], format: &ScannerFormat) -> ScannerItems {
    let mut walk = Walk { text, format, items: Vec::new(), defects: HashSet::new() };
    let (mut complete, mut incomplete, mut found_gaps) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let at = split::root_start(text);
    let is_list = text.get(at) == Some(&b'[');
    let roots: Vec<Range<usize>> = if is_list {
        split::array_elements(text, at).into_iter().map(|ItemSpan { bytes, .. }| bytes).collect()
    } else if at == text.len() || is_null_list(text, format) {
        Vec::new()
    } else {
        std::iter::once(at..split::value_end(text, at)).collect()
    };
    if format.target.is_empty() && (is_list || is_null_list(text, format)) {
        // The report does not name its target, so the list is complete even if it is empty.
        complete.insert(scope_of(&Map::new(), format));
    }
    for root in roots {
        if format.lists.is_empty() {
            let scope = scope_of(&Map::new(), format);
            walk.push(root, &Arc::new(ItemParent { scope, fields: Map::new() }), None);
            continue;
        }
        let fields = walk.own_fields(root.start, format.target);
        let parent = Arc::new(ItemParent { scope: scope_of(&fields, format), fields });
        if !has_marks(text, root.start, format) {
            walk.push(root, &parent, Some("it is not a report of this format"));
            continue;
        }
        let own_gaps: Vec<&str> = gaps(text, root.start, format).collect();
        let scopes = if own_gaps.is_empty() { &mut complete } else { &mut incomplete };
        scopes.insert(parent.scope.clone());
        found_gaps.extend(own_gaps);
        for list in format.lists {
            walk.add_list(root.start, list, &parent);
        }
    }
    walk.items.sort_by_key(|item| item.bytes.start);
    let complete = complete.difference(&incomplete).cloned().collect();
    ScannerItems { items: walk.items, complete, gaps: found_gaps }
}

/// Returns whether a text is `null`, which some scanners write for an empty list of items.
pub(in crate::findings) fn is_null_list(text: &[u8], format: &ScannerFormat) -> bool {
    format.is_list && format.lists.is_empty() && text[split::root_start(text)..].trim_ascii_end() == b"null"
}

fn scope_of(fields: &Map<String, Value>, format: &ScannerFormat) -> String {
    let fields = Value::Object(fields.clone());
    let target = format.target.iter().map(|path| text_at(&fields, &[path]).unwrap_or_default());
    std::iter::once(format.source.as_str().to_owned()).chain(target).collect::<Vec<_>>().join("\n")
}

struct Walk<'a> {
    text: &'a [u8],
    format: &'a ScannerFormat,
    items: Vec<ScannerItem>,
    /// Starts of parts that are not findings; several paths lead through them.
    defects: HashSet<usize>,
}

impl<'a> Walk<'a> {
    fn push(&mut self, bytes: Range<usize>, parent: &Arc<ItemParent>, defect: Option<&'static str>) {
        if defect.is_some() && !self.defects.insert(bytes.start) {
            return;
        }
        self.items.push(ScannerItem { bytes, parent: Arc::clone(parent), defect });
    }

    /// Returns the fields of the object at `at` that are neither lists nor objects, and those objects to which `paths` lead; of such a
    /// list, the first element.
    fn own_fields(&self, at: usize, paths: &[&str]) -> Map<String, Value> {
        let is_named =
            |name: &[u8]| paths.iter().any(|path| path.split('.').next().map(str::as_bytes) == Some(name));
        let parse = |bytes: Range<usize>| {
            let is_small = bytes.len() <= PARENT_VALUE_BYTES_MAX;
            is_small.then(|| serde_json::from_slice::<Value>(&self.text[bytes]).ok()).flatten()
        };
        let read = |(name, value): (&[u8], Range<usize>)| {
            let value = match self.text.get(value.start) {
                Some(b'[' | b'{') if !is_named(name) => None,
                Some(b'[') => {
                    let first = split::array_elements(self.text, value.start).into_iter().next();
                    first.and_then(|first| parse(first.bytes)).map(|first| Value::Array(vec![first]))
                }
                _ => parse(value),
            };
            Some((String::from_utf8(name.to_vec()).ok()?, value?))
        };
        split::fields(self.text, at).into_iter().filter_map(read).collect()
    }

    /// Adds an item, or each of its parts that is a finding of its own.
    fn add_item(&mut self, item: Range<usize>, parent: &Arc<ItemParent>) {
        let Some((Parts { kept, .. }, parts)) = self.parts_of(&item) else {
            return self.push(item, parent, None);
        };
        let fields = self.own_fields(item.start, kept);
        let parent = Arc::new(ItemParent { scope: parent.scope.clone(), fields });
        for part in parts {
            self.push(part, &parent, None);
        }
    }

    /// Returns the parts of an item, if it has any.
    fn parts_of(&self, item: &Range<usize>) -> Option<(&'a Parts, Vec<Range<usize>>)> {
        let parts = self.format.parts.as_ref()?;
        let list = split::object_field(self.text, item.start, parts.list)?;
        if self.text.get(list.start) != Some(&b'[') {
            return None;
        }
        let elements = split::array_elements(self.text, list.start).into_iter().map(|it| it.bytes);
        let objects: Vec<Range<usize>> =
            elements.filter(|it| self.text.get(it.start) == Some(&b'{')).collect();
        (!objects.is_empty()).then_some((parts, objects))
    }

    /// Adds the items at a path such as `Results[].Secrets[]` below the object at `at`.
    fn add_list(&mut self, at: usize, path: &str, parent: &Arc<ItemParent>) {
        let (mut at, mut rest) = (at, path);
        loop {
            let end = rest.find(['.', '[', '{']).unwrap_or(rest.len());
            let Some(value) = split::object_field(self.text, at, &rest[..end]) else { return };
            match rest[end..].strip_prefix('.') {
                Some(below) => (at, rest) = (value.start, below),
                None => return self.add_elements(value, &rest[end..], parent),
            }
        }
    }

    /// Adds the elements of a list or the values of an object, or the values at the rest of the path below each.
    fn add_elements(&mut self, value: Range<usize>, path: &str, parent: &Arc<ItemParent>) {
        let below = path.get(2..).and_then(|rest| rest.strip_prefix('.'));
        let elements: Vec<Range<usize>> = match (self.text.get(value.start), path.starts_with('[')) {
            (Some(b'['), true) => {
                split::array_elements(self.text, value.start).into_iter().map(|it| it.bytes).collect()
            }
            (Some(b'{'), false) => {
                split::fields(self.text, value.start).into_iter().map(|(_, bytes)| bytes).collect()
            }
            // null: there are none.
            (Some(b'n'), _) => return,
            _ => return self.push(value, parent, Some("it must be a list of findings")),
        };
        for element in elements {
            match below {
                None => self.add_item(element, parent),
                Some(_) if self.text.get(element.start) != Some(&b'{') => {
                    self.push(element, parent, Some("it must be an object with lists of findings"));
                }
                Some(below) => {
                    let fields = self.own_fields(element.start, &[]);
                    let parent = Arc::new(ItemParent { scope: parent.scope.clone(), fields });
                    self.add_list(element.start, below, &parent);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::scanners::format_of;
    use crate::findings::source::FindingSource;

    #[test]
    fn each_advisory_is_an_item_that_sees_its_package() {
        let text = r#"{"auditReportVersion": 2, "vulnerabilities": {
            "p": {"name": "p", "via": ["q", {"source": 1}, {"source": 2}], "nodes": ["a/p", "b/p"], "effects": ["r"],
                "fixAvailable": {"version": "2.0.0"}},
            "r": {"name": "r", "via": ["p"]}, "s": {"name": "s", "via": [], "nodes": ["s"]}, "t": 5 }}"#;
        let format = format_of(FindingSource::NpmAudit).unwrap();
        let found = scanner_items(text.as_bytes(), format);
        let items: Vec<&str> = found.items.iter().map(|item| &text[item.bytes.clone()]).collect();
        assert_eq!(items[..2], [r#"{"source": 1}"#, r#"{"source": 2}"#], "{items:?}");
        assert!(items.len() == 5 && items[2].contains("\"r\"") && items[3].contains("\"s\""), "{items:?}");
        let package = Value::Object(found.items[1].parent.fields.clone());
        let expected =
            serde_json::json!({ "name": "p", "nodes": ["a/p"], "fixAvailable": { "version": "2.0.0" } });
        assert_eq!(package, expected);
    }

    #[test]
    fn a_report_with_gaps_has_no_complete_scope() {
        let items = |text: &str, source| scanner_items(text.as_bytes(), format_of(source).unwrap());
        let failed =
            r#"{"results": [], "errors": [{"level": "error"}], "paths": {"skipped": [{"path": "a"}]}}"#;
        let failed = items(failed, FindingSource::Semgrep);
        assert!(failed.complete.is_empty(), "{failed:?}");
        assert_eq!(Vec::from_iter(failed.gaps), ["errors[].level", "paths.skipped[]"]);
        let one = |kind: &str, errors: &str| {
            format!(
                r#"{{"check_type": "{kind}", "results": {{"failed_checks": [], "parsing_errors": {errors}}}}}"#
            )
        };
        let of_kinds = format!("[{}, {}]", one("terraform", "[\"/a.tf\"]"), one("dockerfile", "[]"));
        let of_kinds = items(&of_kinds, FindingSource::Checkov);
        assert_eq!(Vec::from_iter(of_kinds.complete), ["checkov\ndockerfile"], "only what was not scanned");
        let file = |name: &str, fatal: bool| {
            format!(r#"{{"filePath": "{name}", "messages": [{{"message": "m", "fatal": {fatal}}}]}}"#)
        };
        let files = format!("[{}, {}]", file("a.js", false), file("b.js", true));
        assert!(items(&files, FindingSource::Eslint).complete.is_empty());
        assert_eq!(items(&files.replace("true", "false"), FindingSource::Eslint).complete.len(), 1);
    }

    #[test]
    fn null_is_an_empty_list_of_items() {
        for (text, source, complete) in [
            (" null\n", FindingSource::Gitleaks, 1),
            ("[]", FindingSource::Gitleaks, 1),
            ("null", FindingSource::Eslint, 0),
            ("null and void", FindingSource::Gitleaks, 0),
        ] {
            let found = scanner_items(text.as_bytes(), format_of(source).unwrap());
            assert_eq!(found.complete.len(), complete, "{source:?} {text}");
            assert_eq!(found.items.is_empty(), complete == 1, "{source:?} {text}");
        }
    }
}
