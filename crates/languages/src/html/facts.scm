; Facts of HTML. Scripts and styles inside a page are read as their own languages.

; Imports: files that a page loads.
((script_element (start_tag (attribute (attribute_name) @_source (quoted_attribute_value) @import))) (#eq? @_source "src"))
((script_element (start_tag (attribute (attribute_name) @_source (attribute_value) @import))) (#eq? @_source "src"))
((element (start_tag (tag_name) @_link (attribute (attribute_name) @_source (quoted_attribute_value) @import))) (#eq? @_link "link") (#eq? @_source "href"))
((element (start_tag (tag_name) @_link (attribute (attribute_name) @_source (attribute_value) @import))) (#eq? @_link "link") (#eq? @_source "href"))
((element (self_closing_tag (tag_name) @_link (attribute (attribute_name) @_source (quoted_attribute_value) @import))) (#eq? @_link "link") (#eq? @_source "href"))

; Handlers: `onclick="save(1)"` calls `save`.
((attribute (attribute_name) @_on (quoted_attribute_value (attribute_value) @call)) (#match? @_on "^on[a-z]+$") (#match? @call "^[A-Za-z_$][A-Za-z0-9_.$]*[(][^;]*[)]$"))

; Uses: custom elements, and the fields that a label or a list refers to.
((tag_name) @use (#match? @use "-"))
((attribute (attribute_name) @_for (quoted_attribute_value (attribute_value) @use)) (#any-of? @_for "for" "list" "aria-labelledby" "aria-describedby" "aria-controls"))

(comment) @comment
((attribute (attribute_name) @_link (quoted_attribute_value (attribute_value) @lint)) (#any-of? @_link "href" "src" "action") (#match? @lint "^ *[jJ]ava[sS]cript:") (#set! value "javascript-url"))
