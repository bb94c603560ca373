//! A small library whose names are defined, mentioned, tested, declared and documented in several places.

pub(super) const FILES: &[(&str, &str)] = &[
    ("src/context.ts", CONTEXT),
    ("src/response.ts", RESPONSE),
    ("src/json.ts", JSON),
    ("src/app_context.py", APP_CONTEXT),
    ("src/stack.py", STACK),
    ("src/middleware/cors.ts", CORS),
    ("src/store.rs", STORE),
    ("src/types.ts", TYPES),
    ("src/env_helper.ts", ENV_HELPER),
    ("types/index.d.ts", DECLARED),
    ("tests/context.test.ts", TEST),
    ("examples/basic.ts", EXAMPLE),
    ("docs/context.md", DOCUMENT),
];

pub(super) const CONTEXT: &str = r#"/*
 * Copyright 2024 the authors of the library.
 * Licensed under the licence that stands beside this file.
 */
import { Env } from './types'
import { Response } from './response'
import { encode } from './json'

export class Context {
  private status = 200
  private headers: Record<string, string> = {}

  constructor(readonly env: Env) {}

  header(name: string, value: string): void {
    this.headers[name.toLowerCase()] = value
  }

  text(body: string): Response {
    this.header('content-type', 'text/plain')
    return new Response(body, this.status, this.headers)
  }

  json(body: unknown): Response {
    this.header('content-type', 'application/json')
    return new Response(encode(body), this.status, this.headers)
  }

  html(body: string): Response {
    this.header('content-type', 'text/html')
    return new Response(body, this.status, this.headers)
  }
}
"#;

const RESPONSE: &str = r#"import { decode } from './json'

/** What a server answers: its json is decoded on demand. */
export class Response {
  constructor(
    readonly body: string,
    readonly status: number,
    readonly headers: Record<string, string>,
  ) {}

  json(): unknown {
    return decode(this.body)
  }
}
"#;

const JSON: &str = r#"/** Encodes json for a context or a response. */
export function encode(value: unknown): string {
  return JSON.stringify(value)
}

/** Decodes json of a context or a response. */
export function decode(text: string): unknown {
  return JSON.parse(text)
}

export const json = { encode, decode }
"#;

const APP_CONTEXT: &str = r#""""The context of an application."""
from .stack import Stack


class AppContext:
    """Holds what belongs to an application while it works."""

    def __init__(self, app):
        self.app = app
        self.stack = Stack()

    def push(self):
        """Makes this the current context."""
        self.stack.push(self)

    def pop(self, error=None):
        """Ends being the current context."""
        return self.stack.pop()
"#;

const STACK: &str = r#"class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()


def push(context):
    """Pushes an application context onto the stack."""
    context.push()
"#;

const CORS: &str = r#"import { Context } from '../context'

type Options = { origin: string }

const defaults: Options = { origin: '*' }

export function cors(options: Options = defaults) {
  return (c: Context, next: () => void) => {
    c.header('access-control-allow-origin', options.origin)
    next()
  }
}
"#;

const STORE: &str = r#"use std::collections::HashMap;

/// Keeps values.
pub struct Store {
    values: HashMap<String, String>,
}

impl Store {
    /// Opens an empty store.
    pub fn open() -> Self {
        Self { values: HashMap::new() }
    }

    /// A value of the store.
    pub fn get(&self, key: &str) -> Option<&String> {
        self.values.get(key)
    }
}

/// Opens a store, or the file of one.
pub fn open(path: &str) -> Store {
    let _ = path;
    Store::open()
}
"#;

const TYPES: &str = r#"import { Context } from './context'

export type Handler = (c: Context) => void

export interface Env {
  variables: Record<string, unknown>
  bindings: Record<string, unknown>
}

export type Next = () => Promise<void>
"#;

const ENV_HELPER: &str = r#"import { Env } from './types'

/** Reads the env of a context: env is an interface of variables and bindings. */
export function env(c: { env: Env }): Env {
  return c.env
}

export const envKeys = (env: Env) => Object.keys(env.variables)
"#;

const DECLARED: &str = r#"export interface Env {
  variables: Record<string, unknown>
}
export declare class Context {
  json(body: unknown): Response
}
export declare function cors(options: object): unknown
"#;

const TEST: &str = r#"import { Context } from '../src/context'

class FakeContext {
  json(body: unknown) {
    return body
  }
}

describe('Context', () => {
  it('Context.json answers json', () => {
    const context = new Context({ variables: {}, bindings: {} })
    expect(context.json({ a: 1 }).json()).toEqual({ a: 1 })
  })
})
"#;

const EXAMPLE: &str = r#"import { cors } from '../src/middleware/cors'
import { Context } from '../src/context'

interface Env {
  name: string
}

export function cors_example(context: Context): Env {
  cors()(context, () => context.json({ json: 'Context.json' }))
  return { name: 'cors' }
}
"#;

const DOCUMENT: &str = r#"# Context

`Context.json` answers with json, `Context.text` with text. The interface `Env` says what a context has.

## Context.json

Call `context.json(value)`. A `Context` pushes nothing; `AppContext.push` of the Python side does.

## cors

The function `cors` answers requests of other origins.
"#;
