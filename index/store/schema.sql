-- The index store, schema 4. Edges are not stored: they follow from chunks.concepts.
-- Numbers (documents, chunks, concepts, communities) are given once and never reused; the next
-- free ones stand in the newest generation.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE generations (
    id INTEGER PRIMARY KEY,
    parent INTEGER NOT NULL,
    epoch INTEGER NOT NULL,            -- of the community partition in force
    writer_epoch INTEGER NOT NULL,     -- of the writer that committed it
    committed_at INTEGER NOT NULL,     -- milliseconds
    watermark INTEGER NOT NULL,
    newest_arrival INTEGER NOT NULL,
    positions TEXT NOT NULL,           -- JSON [[topic, partition, next offset], ...]
    totals TEXT NOT NULL,              -- JSON, index.snapshot.Totals
    next_document INTEGER NOT NULL,
    next_chunk INTEGER NOT NULL,
    next_concept INTEGER NOT NULL,
    next_community INTEGER NOT NULL,
    retracted BLOB NOT NULL,           -- int64 slots
    regrouped INTEGER NOT NULL,        -- 1 where community membership changed
    sums TEXT NOT NULL,                -- linear checksums of f and w, index.counts
    format INTEGER NOT NULL,
    checksum BLOB NOT NULL,            -- over this row and its parent's checksum
    horizon INTEGER                    -- event times before it are due to expire; NULL: no window
);

CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    content_hash BLOB NOT NULL,
    version INTEGER,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    url TEXT NOT NULL,
    lang TEXT NOT NULL,
    published_at INTEGER,
    observed_at INTEGER NOT NULL,
    event_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,            -- JSON object
    derived TEXT NOT NULL,             -- names, joined by commas
    title_concepts BLOB NOT NULL,      -- int32, sorted
    generation INTEGER NOT NULL
);
CREATE INDEX documents_event ON documents (event_at);

CREATE TABLE chunks (
    slot INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    concepts BLOB NOT NULL,            -- int32, sorted, distinct
    forms BLOB NOT NULL,               -- int32, the form of each concept
    vector BLOB NOT NULL               -- float16, unit length
);
CREATE INDEX chunks_document ON chunks (document, ordinal);

CREATE TABLE concepts (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL
);

CREATE TABLE forms (
    number INTEGER PRIMARY KEY,
    concept INTEGER NOT NULL,
    text TEXT NOT NULL,
    n INTEGER NOT NULL,                -- chunks whose mention is written so
    UNIQUE (concept, text)
);

CREATE TABLE facets (
    slot INTEGER NOT NULL,
    kind TEXT NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    unit TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL
);
CREATE INDEX facets_slot ON facets (slot);
CREATE INDEX facets_value ON facets (kind, low);

CREATE VIRTUAL TABLE full_text USING fts5 (
    title, text, content='', tokenize='porter unicode61 remove_diacritics 2'
);

CREATE TABLE positions (
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (topic, partition)
) WITHOUT ROWID;

CREATE TABLE tombstones (
    id TEXT PRIMARY KEY,
    version INTEGER,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL,
    expired INTEGER NOT NULL DEFAULT 0 -- 1 where its time took it, not its producer
) WITHOUT ROWID;
CREATE INDEX tombstones_deleted ON tombstones (deleted_at);

CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    key BLOB,
    value BLOB,
    headers TEXT NOT NULL,             -- JSON [[name, value in base64], ...]
    timestamp INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    rejected_at INTEGER NOT NULL,
    UNIQUE (topic, partition, offset)
);

CREATE TABLE changes (
    generation INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    kind TEXT NOT NULL,                -- insert, edit, delete, expiry
    observed_at INTEGER NOT NULL,
    event_at INTEGER NOT NULL,
    source TEXT NOT NULL,
    concepts BLOB NOT NULL             -- int32, sorted, distinct
);
CREATE INDEX changes_observed ON changes (observed_at);
CREATE INDEX changes_generation ON changes (generation);

CREATE TABLE communities (
    id INTEGER PRIMARY KEY,
    level INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    size INTEGER NOT NULL,
    born INTEGER NOT NULL,             -- generation
    died INTEGER,                      -- generation, or NULL while it lives
    changed INTEGER NOT NULL DEFAULT 0, -- generation that last changed the row
    told INTEGER NOT NULL DEFAULT 0    -- size when it began, then what lineage last told of it
);
CREATE INDEX communities_changed ON communities (changed);

CREATE TABLE membership (
    concept INTEGER PRIMARY KEY,
    leaf INTEGER NOT NULL,             -- deepest community; -1 for none any more
    changed INTEGER NOT NULL DEFAULT 0 -- generation that last changed the row
);
CREATE INDEX membership_changed ON membership (changed);

CREATE TABLE lineage (
    generation INTEGER NOT NULL,
    kind TEXT NOT NULL,
    community INTEGER NOT NULL,
    related INTEGER NOT NULL,
    shared INTEGER NOT NULL            -- concepts in common, or the size
);
CREATE INDEX lineage_community ON lineage (community, generation);
CREATE INDEX lineage_related ON lineage (related, generation);
