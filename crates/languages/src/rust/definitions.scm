; Definitions of Rust. The earliest pattern wins for a name.
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(union_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name body: (_)) @definition.module
(macro_definition name: (identifier) @name) @definition.function
(impl_item type: (generic_type type: (_) @name)) @definition.impl
(impl_item type: (_) @name) @definition.impl
(source_file [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @definition.variable)
(declaration_list [(const_item name: (identifier) @name) (static_item name: (identifier) @name)] @definition.variable)

(enum_variant name: (identifier) @name) @member.variable

; Comments and attributes belong to the item that follows, except `//!` and `#![…]`.
(line_comment !inner) @leading
(block_comment !inner) @leading
(attribute_item) @leading
