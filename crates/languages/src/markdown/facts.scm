; Facts of Markdown: links. The text of paragraphs is not parsed.

(link_reference_definition (link_destination) @import)
(link_reference_definition (link_label) @use)
(info_string (language) @use)
((html_block) @comment (#match? @comment "^\\s*<!--"))
