//! The names in TOML manifests: the name of the package, and the file of its library.
//!
//! A `Cargo.toml` names a crate, which source files then use in paths.

use tree_sitter::Node;

use crate::symbols::{Builder, children};

/// Reports `name` of `[package]` or `[lib]` as the package of the file, and `path` of `[lib]` as an import named `lib`.
pub(super) fn extract<'t>(b: &mut Builder<'t>, root: Node<'t>) {
    let mut has_library_name = false;
    for table in children(root).into_iter().filter(|child| child.kind() == "table") {
        let mut parts = children(table).into_iter();
        let heading = parts.next().map_or("", |key| b.text(key));
        if !matches!(heading, "package" | "lib") {
            continue;
        }
        for pair in parts.filter(|part| part.kind() == "pair") {
            let [key, value] = children(pair)[..] else { continue };
            let text = b.text(value).trim_matches(['"', '\'']);
            match (heading, b.text(key)) {
                // The library may have a name of its own, which is that of the crate wherever it stands.
                ("lib", "name") => {
                    has_library_name = true;
                    b.package(text);
                }
                ("package", "name") if !has_library_name => b.package(text),
                ("lib", "path") => b.import(value, &format!("./{text}"), None, Some("lib"), None),
                _ => {}
            }
        }
    }
}
