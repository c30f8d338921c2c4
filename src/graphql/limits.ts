/** What a document may be, checked before anything of it runs. What it may cost is in cost.ts. */
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import type { Plugin } from 'graphql-yoga'

/** A dashboard's query is some 8 levels deep; Relay's fragments and edges add a few. */
const MAX_DEPTH = 15
const MAX_ALIASES = 30
/** The introspection query has some 300. */
const MAX_TOKENS = 2_000

/** Of a request's body, as in REST (contract 2). */
export const MAX_BODY_BYTES = 1024 * 1024

export function limits(): Plugin[] {
  return [
    maxTokensPlugin({ n: MAX_TOKENS }),
    maxDepthPlugin({ n: MAX_DEPTH }),
    maxAliasesPlugin({ n: MAX_ALIASES }),
  ] as Plugin[]
}
