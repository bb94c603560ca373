; Definitions of an HTML page: elements with an id.
(element
  (start_tag (attribute
    (attribute_name) @_attribute
    (quoted_attribute_value (attribute_value) @name)))
  (#eq? @_attribute "id")) @definition.section

(comment) @leading
