; Headings; a section holds its text and the sections below it.
(section . (atx_heading heading_content: (inline) @name)) @definition.section
(section . (setext_heading heading_content: (paragraph) @name)) @definition.section
