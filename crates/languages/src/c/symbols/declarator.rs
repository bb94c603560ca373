//! Reads C declarators: the name that they declare, and how its type is made of the one before it.

use tree_sitter::Node;

use super::{Walk, children};
use crate::symbols::{Builder, Expr, ExprId, ScopeKind, TreeWalk};

/// Maximum number of nested parts of a declarator that are read.
const PARTS_MAX: usize = 32;

/// The result of reading a declarator.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Declared<'t> {
    /// The node of the name.
    pub(crate) name: Option<Node<'t>>,
    /// The type of the value, or the result of the function.
    pub(crate) declared: Option<ExprId>,
    /// The part with the parameters, if the name is that of a function.
    pub(crate) function: Option<Node<'t>>,
}

impl<'t> Walk<'t> {
    /// Reads a declarator from the outside to the name, and reports the names used in it, except those of parameters.
    pub(crate) fn declarator(
        &mut self,
        b: &mut Builder<'t>,
        declarator: Node<'t>,
        base: Option<ExprId>,
    ) -> Declared<'t> {
        let (mut node, mut declared, mut function, mut functions) = (declarator, base, None, 0);
        for _ in 0..PARTS_MAX {
            match node.kind() {
                "pointer_declarator" | "abstract_pointer_declarator" => {
                    function = None;
                    declared = declared.map(|of| self.pointer(b, of));
                }
                "array_declarator" | "abstract_array_declarator" => {
                    function = None;
                    declared = declared.map(|of| self.pointer(b, of));
                    self.visit_field(b, node, "size");
                }
                "function_declarator" | "abstract_function_declarator" => {
                    if functions > 0 {
                        // The result is a function, whose own result is unknown.
                        declared = None;
                    }
                    function = Some(node);
                    functions += 1;
                }
                "reference_declarator"
                | "parenthesized_declarator"
                | "attributed_declarator"
                | "init_declarator"
                | "variadic_declarator"
                | "abstract_reference_declarator"
                | "abstract_parenthesized_declarator" => {}
                "operator_cast" => return Declared { name: None, declared: None, function: None },
                "identifier"
                | "field_identifier"
                | "type_identifier"
                | "qualified_identifier"
                | "destructor_name"
                | "operator_name"
                | "template_function"
                | "template_method" => {
                    // A pointer to a function is a value of a type that has no members.
                    let declared = if function.is_none() && functions > 0 { None } else { declared };
                    return Declared { name: Some(node), declared, function };
                }
                _ => break,
            }
            let inner = node.child_by_field_name("declarator");
            let unnamed = || {
                children(node).map(|(_, child)| child).take(8).find(|child| {
                    let kind = child.kind();
                    kind.ends_with("declarator") || kind.ends_with("identifier") || kind.ends_with("_name")
                })
            };
            let Some(next) = inner.or_else(unnamed) else { break };
            node = next;
        }
        let declared = if functions > 0 { None } else { declared };
        Declared { name: None, declared, function: None }
    }

    /// The type of pointers to a type, which contain it.
    pub(crate) fn pointer(&mut self, b: &mut Builder<'t>, of: ExprId) -> ExprId {
        if *b.expr(of) == Expr::Unknown {
            return of;
        }
        let star = b.name("*");
        b.add(Expr::Apply(star, vec![of]))
    }

    /// Checks whether the parameters that the grammar reports are in fact the arguments of a constructor: `T x(a, b)` in a C++ function.
    pub(super) fn is_construction(&self, b: &Builder<'t>, parameters: Node<'t>) -> bool {
        if !matches!(b.scope_kind(), ScopeKind::Function | ScopeKind::Block) {
            return false;
        }
        let mut arguments = children(parameters).map(|(_, parameter)| parameter).peekable();
        arguments.peek().is_some()
            && arguments.take(64).all(|parameter| {
                let named = parameter.child_by_field_name("type");
                parameter.child_by_field_name("declarator").is_none()
                    && named.is_some_and(|named| self.names_value(b, named))
            })
    }

    /// Checks whether an argument that was parsed as a type names a known value.
    fn names_value(&self, b: &Builder<'t>, named: Node<'t>) -> bool {
        match named.kind() {
            "type_identifier" => {
                let name = b.text(named);
                self.is_local(name) || name.ends_with('_') || name.chars().all(|c| !c.is_lowercase())
            }
            "qualified_identifier" => true,
            _ => false,
        }
    }
}
