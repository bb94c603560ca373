-- What compilers' indexers say of files, taken from SCIP files.

-- What one of them says of a file with this content. It counts only while the file has that content.
CREATE TABLE IF NOT EXISTS {schema}.scip_documents (
    repository_id int8 NOT NULL,
    path text NOT NULL,
    content_hash bytea NOT NULL,
    tool text NOT NULL,
    document bytea NOT NULL,
    PRIMARY KEY (repository_id, path)
);

-- SCIP files of the repository's folder for them that were read; `refused` counts documents that did not fit their files.
CREATE TABLE IF NOT EXISTS {schema}.scip_files (
    repository_id int8 NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    refused int8 NOT NULL,
    PRIMARY KEY (repository_id, name)
);
