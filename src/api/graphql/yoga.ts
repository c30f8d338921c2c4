/**
 * Builds the GraphQL server: GraphQL over HTTP, subscriptions over SSE, and GraphiQL in a browser
 * (docs/api-rules.md#graphql).
 */
import { introspectionFromSchema, NoSchemaIntrospectionCustomRule } from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import type { Core } from '../../domain/transaction/context.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import type { Admission } from '../limits/admission.ts'
import type { Relay } from '../realtime/relay.ts'
import type { Heartbeat } from '../responses/heartbeat.ts'
import type { ResponseCache } from '../responses/response-cache.ts'
import { DOCUMENT_BOUNDS, DocumentCache, SegmentedLru, useDocumentCache } from './fast-path/document-cache.ts'
import { createFastPath, type FastPath } from './fast-path/fast-path.ts'
import { schema } from './schema.ts'
import { type ServerContext, useAuthentication } from './use-authentication.ts'
import { documentFormLimits, useDocumentLimits } from './use-document-limits.ts'
import { usePresentedErrors, useReadableRequests } from './use-errors.ts'
import { useIdempotency } from './use-idempotency.ts'
import { useGraphiqlPolicy, useNoStore } from './use-response-headers.ts'
import { useStreams } from './use-streams.ts'

export interface GraphQLOptions {
  core: Core
  authenticate: Authenticate
  relay: Relay
  heartbeat: Heartbeat
  responseCache: ResponseCache
  admission: Admission
  /** serves GraphiQL to browsers; the page needs no credential, its requests do */
  graphiql: boolean
  introspection: boolean
}

export type GraphQLServer = YogaServerInstance<ServerContext, object>

export const GRAPHQL_PATH = '/graphql'

/** The first query in GraphiQL. */
const DEFAULT_QUERY = `# Put your API key into the headers below, then press the button. Nothing is sent before.
{
  viewer { role workspace { id name } }
  deployments(first: 10) {
    nodes { id name status latestRevision { number status statusMessage } }
  }
}
`

const withoutIntrospection: Plugin = {
  onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule),
}

/** The same limit as in REST (docs/api-rules.md#errors). */
export const MAX_BODY_BYTES = 1024 * 1024

/** Creates Yoga, and the fast path for documents that it executed before. */
export function createGraphql(options: GraphQLOptions): { yoga: GraphQLServer; fastPath: FastPath } {
  const { core, authenticate, relay, admission, responseCache, graphiql, introspection } = options
  const documentCache = new DocumentCache(schema)
  const yoga = createYoga<ServerContext>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    graphiql: graphiql && {
      title: 'Pilothouse',
      headers: '{\n  "X-Api-Key": ""\n}',
      defaultQuery: DEFAULT_QUERY,
      subscriptionsProtocol: 'SSE',
    },
    // GraphiQL comes from a package, because the page where users type keys must load nothing from elsewhere. It has nine
    // megabytes, so it is loaded on first use. It gets the schema; otherwise it would query it without a key and greet new
    // users with a 401.
    renderGraphiQL: async (options) => {
      const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
      return renderGraphiQL({ ...options, schema: introspection ? introspectionFromSchema(schema) : null } as object)
    },
    landingPage: false,
    batching: false,
    multipart: false,
    cors: false,
    maxRequestBodySize: MAX_BODY_BYTES,
    parserAndValidationCache: { documentCache: documentCache.documents, errorCache: new SegmentedLru(DOCUMENT_BOUNDS) },
    // the last plugin presents, masks and logs errors, because it knows the request
    maskedErrors: false,
    logging: false,
    plugins: [
      useAuthentication(authenticate, relay, core.log),
      useStreams(options),
      useReadableRequests,
      ...documentFormLimits(),
      useDocumentLimits(admission),
      useIdempotency(),
      useNoStore(),
      useGraphiqlPolicy,
      ...(introspection ? [] : [withoutIntrospection]),
      useDocumentCache(documentCache),
      usePresentedErrors(core.log),
    ],
  })
  return {
    yoga,
    fastPath: createFastPath({
      schema,
      relay,
      authenticate,
      documentCache,
      admission,
      responseCache,
    }),
  }
}
