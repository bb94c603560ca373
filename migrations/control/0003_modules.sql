-- Which tables a project's schema has besides those of search. A statement ends with a semicolon at the end of a line.

-- Written by the transaction that makes a module's tables, on the first use of the module.
CREATE TABLE pairofcleats.project_modules (
    project_id text NOT NULL,
    module text NOT NULL,
    version int4 NOT NULL,
    PRIMARY KEY (project_id, module)
);
