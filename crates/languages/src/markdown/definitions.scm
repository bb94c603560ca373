; Definitions: headings. A section includes its subsections.
(section . (atx_heading heading_content: (inline) @name)) @definition.section
(section . (setext_heading heading_content: (paragraph) @name)) @definition.section
