//! Imports of PHP: `use A\B`, `use A\{B, C as D}`, `use function A\f`.

use tree_sitter::Node;

use super::Walk;
use crate::symbols::Builder;

impl<'t> Walk<'t> {
    pub(super) fn imports(&mut self, b: &mut Builder<'t>, node: Node<'t>) {
        let mut prefix = "";
        b.each_child(node, |b, child| match child.kind() {
            "namespace_name" => prefix = b.text(child),
            "namespace_use_clause" => import(b, child, ""),
            "namespace_use_group" => b.each_child(child, |b, clause| {
                if clause.kind() == "namespace_use_clause" {
                    import(b, clause, prefix);
                }
            }),
            _ => {}
        });
    }
}

fn import(b: &mut Builder<'_>, clause: Node<'_>, prefix: &str) {
    let Some(named) = clause.named_child(0) else { return };
    let path = b.text(named).trim_start_matches('\\');
    let (before, name) = path.rsplit_once('\\').unwrap_or(("", path));
    let module = match (prefix.is_empty(), before.is_empty()) {
        // The global namespace.
        (true, true) => "\\".to_owned(),
        (true, false) => before.to_owned(),
        (false, true) => prefix.trim_start_matches('\\').to_owned(),
        (false, false) => format!("{}\\{before}", prefix.trim_start_matches('\\')),
    };
    let at = match named.kind() {
        "qualified_name" => {
            named.named_child((named.named_child_count() as u32).saturating_sub(1)).unwrap_or(named)
        }
        _ => named,
    };
    let local = clause.child_by_field_name("alias").map_or(name, |alias| b.text(alias));
    b.import(at, &module, Some(name), Some(local), None);
}
