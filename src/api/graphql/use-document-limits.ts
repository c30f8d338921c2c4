/**
 * Yoga plugins: limits on a document's form and cost before it runs. Heavy documents are limited per key, and an agent's
 * document must be small.
 */
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { type DocumentNode, GraphQLError, validate } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { type Admission, HEAVY_COST, HEAVY_DOCUMENT_LENGTH } from '../limits/admission.ts'
import type { GraphQLContext } from './builder/context.ts'
import { costOf } from './builder/cost.ts'
import { type DocumentSize, measureDocument } from './measure-document.ts'
import type { ServerContext } from './use-authentication.ts'

/** A dashboard's query has about 8 levels; Relay's fragments and edges add a few. */
const MAX_DEPTH = 15
const MAX_ALIASES = 30
/** The introspection query has about 300. */
const MAX_TOKENS = 2_000

/** An invalid field costs more time than a valid one, for its suggestions of similar names. */
const MAX_ERRORS = 20

/** In a longer document errors have no locations: each location counts lines from the start. */
const MAX_LOCATED_LENGTH = 32_768
const MAX_LOCATED_LINES = 1_000

/** Limits on tokens, depth and aliases. */
export function documentFormLimits(): Plugin[] {
  return [
    maxTokensPlugin({ n: MAX_TOKENS }),
    maxDepthPlugin({ n: MAX_DEPTH }),
    maxAliasesPlugin({ n: MAX_ALIASES }),
  ] as Plugin[]
}

/** sizes of measured documents; a cached document is not measured again */
const measuredDocuments = new WeakMap<DocumentNode, DocumentSize>()

export function useDocumentLimits(admission: Admission): Plugin<GraphQLContext, ServerContext> {
  return {
    async onParams({ params, context, setResult }) {
      const length = params.query?.length ?? 0
      if (length <= HEAVY_DOCUMENT_LENGTH) return
      const caller = context as unknown as GraphQLContext & ServerContext
      try {
        if (caller.actor.role === 'agent')
          throw refusal(`An agent's document has at most ${HEAVY_DOCUMENT_LENGTH} characters.`)
        if (caller.requestScope) await admission.admitHeavy(caller.actor, caller.requestScope)
      } catch (error) {
        setResult({ errors: [error as GraphQLError] })
      }
    },
    onParse({ params: { source }, parseFn, setParseFn }) {
      if (!isLocated(String(source))) setParseFn((text, options) => parseFn(text, { ...options, noLocation: true }))
      return ({ result, context, replaceParseResult }) => {
        if (!result || result instanceof Error) return
        const document = result as DocumentNode
        const { excess, operations } = measuredDocuments.get(document) ?? measureDocument(document)
        measuredDocuments.set(document, { excess, operations })
        if (excess) replaceParseResult(refusal(excess) as never)
        // thrown, not cached: other callers may send the same document
        else if (operations > 1 && context.actor?.role === 'agent')
          throw refusal("An agent's document has one operation.")
      }
    },
    onValidate({ setValidationFn }) {
      setValidationFn((schema, document, rules) => validate(schema, document, rules, { maxErrors: MAX_ERRORS }))
    },
    async onExecute({ args }) {
      const { schema, document, operationName } = args
      const ctx = args.contextValue as GraphQLContext & ServerContext
      const cost = costOf({ schema, document, operationName, variables: args.variableValues ?? {}, ctx })
      if (cost > 0) ctx.cost = cost
      if (cost > HEAVY_COST && ctx.requestScope) await admission.admitHeavy(ctx.actor, ctx.requestScope)
    },
    onResultProcess({ serverContext }) {
      if (serverContext.requestScope) admission.releaseHeavy(serverContext.requestScope)
    },
  }
}

function isLocated(text: string): boolean {
  return text.length <= MAX_LOCATED_LENGTH && text.split(/[\n\r]/, MAX_LOCATED_LINES + 1).length <= MAX_LOCATED_LINES
}

function refusal(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { http: { status: 400, spec: true } } })
}
