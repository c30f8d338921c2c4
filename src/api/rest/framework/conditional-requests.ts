/**
 * Conditional requests (RFC 9110, 13; docs/api-rules.md#conditional-requests): the tag of an answer, the 304 of a GET
 * whose caller has it already, and what a caller may ask of a write. One rule for every operation: a GET answers a tag and takes
 * If-None-Match; a write takes If-Match where it says so. Every other condition is refused, since a caller who sends
 * one relies on it; but for those that HTTP lets a server ignore (If-Modified-Since, If-Range).
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Violation } from '../../../domain/errors/errors.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import { seesValues } from '../../../domain/transaction/access.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { deployment } from '../responses/deployment.ts'
import { listener } from '../responses/listener.ts'
import { oauthProvider } from '../responses/oauth-provider.ts'
import type { ResponseHeaders } from '../responses/response-headers.ts'
import { encode } from '../responses/response-schema.ts'
import { revision } from '../responses/revision.ts'
import { type EntityTag, parseTags, type TagList } from './entity-tags.ts'

/** What callers edit: its tag begins with the number of the edit. */
const VERSIONED_SCHEMAS: ReadonlySet<z.ZodType> = new Set([deployment, listener, oauthProvider])
/** What has an address of its own: a write that answers it says the tag that a GET of it would. */
const ADDRESSABLE_SCHEMAS: ReadonlySet<z.ZodType> = new Set([...VERSIONED_SCHEMAS, revision])

/** The part of an operation that conditions are about. */
export interface ConditionalOperation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** it changes what its path names, if that is as the caller knows it */
  ifMatch?: boolean
  headers?: Record<string, string>
}

/** The bytes that are sent, and the tag of just them. */
export interface Representation {
  body: string
  tag: string
}

/** What was made of a source that many wait for, by schema and rights of the caller. */
const sharedRepresentations = new WeakMap<
  object,
  { schema: z.ZodType; rights: string; representation: Representation }[]
>()

/** `source` as it is sent to this caller: what `schema` is of. Made once for all with the same rights who share a source. */
function representShared(schema: z.ZodType, source: unknown, ctx: RequestContext): Representation {
  const { organizationId, role } = ctx.actor
  const rights = `${organizationId} ${ctx.workspace.id} ${role} ${seesValues(ctx.actor)}`
  const those = sharedRepresentations.get(source as object) ?? []
  const known = those.find((one) => one.schema === schema && one.rights === rights)
  if (known) return known.representation
  const representation = represent(schema, source, ctx)
  sharedRepresentations.set(source as object, [...those, { schema, rights, representation }])
  return representation
}

/** The same of a source that nobody else waits for. */
export function represent(schema: z.ZodType, source: unknown, ctx: RequestContext): Representation {
  const body = JSON.stringify(encode(schema, source as never, ctx))
  return {
    body,
    tag: entityTag(body, VERSIONED_SCHEMAS.has(schema) ? (source as { editVersion: number }).editVersion : undefined),
  }
}

/** The strong tag of a body. `edit`: which edit of the resource it shows, where callers edit it. */
function entityTag(body: string, edit?: number): string {
  // 128 bits are plenty
  const digest = hash('sha256', body, 'hex').slice(0, 32)
  return edit === undefined ? `"${digest}"` : `"${edit}-${digest}"`
}

/** For the verb of a GET with If-None-Match: whether what it has found is news to this caller. */
export function newsCheck(
  schema: z.ZodType | null | undefined,
  { ifNoneMatch }: Conditions,
  ctx: RequestContext,
): Pick<RawInput, 'isNews'> {
  if (!ifNoneMatch || !schema) return {}
  return { isNews: (source) => noneMatch(ifNoneMatch, representShared(schema, source, ctx).tag) }
}

/** Whether the caller of a GET lacks what `tag` is of: weak comparison (RFC 9110, 13.1.2). `tags`: of If-None-Match. */
export function noneMatch(tags: TagList | undefined, tag: string): boolean {
  if (tags === undefined) return true
  return tags !== '*' && !tags.some(({ opaque }) => `"${opaque}"` === tag)
}

/** What a request makes its answer depend on. */
export interface Conditions {
  /** of a GET */
  ifNoneMatch?: TagList
  /** what the verb is handed of them: it knows when to check, and in which order violations are told */
  raw: Pick<RawInput, 'ifMatch' | 'refused'>
}

const CONDITION_HEADERS = { 'If-Match': 'if-match', 'If-None-Match': 'if-none-match' } as const
const NO_CONDITIONS: Conditions = { raw: {} }

/** Reads the conditions of a request to an operation. */
export function conditionsOf(operation: ConditionalOperation, headers: IncomingHttpHeaders): Conditions {
  const { 'if-match': match, 'if-none-match': noneMatch, 'if-unmodified-since': since } = headers
  if (match === undefined && since === undefined) {
    if (noneMatch === undefined) return NO_CONDITIONS
    const ifNoneMatch = isTagged(operation) ? parseTags(noneMatch) : null
    if (ifNoneMatch) return { ifNoneMatch, raw: NO_CONDITIONS.raw }
  }
  const refused: Violation[] = []
  const read = (name: keyof typeof CONDITION_HEADERS, isSupported: boolean): TagList | undefined => {
    const text = headers[CONDITION_HEADERS[name]]
    if (text === undefined) return undefined
    const tags = isSupported ? parseTags(text) : null
    if (tags) return tags
    refused.push({ loc: ['header', name], ...(isSupported ? MALFORMED_TAGS : UNSUPPORTED_CONDITION) })
    return undefined
  }
  const ifMatch = read('If-Match', operation.ifMatch ?? false)
  const ifNoneMatch = read('If-None-Match', isTagged(operation))
  // beside an If-Match that is taken it has to be ignored (RFC 9110, 13.1.4)
  if (!ifMatch && headers['if-unmodified-since'] !== undefined)
    refused.push({ loc: ['header', 'If-Unmodified-Since'], ...DATE_CONDITION })
  return {
    ...(ifNoneMatch && { ifNoneMatch }),
    raw: {
      ...(ifMatch && ifMatch !== '*' && { ifMatch: ifMatch.flatMap(versionsOf) }),
      ...(refused.length > 0 && { refused }),
    },
  }
}

/** Strong comparison, of the edit alone: whatever hash follows it, and none if it is no tag of an edit. */
const versionsOf = ({ weak, opaque }: EntityTag) => {
  const edit = weak ? undefined : /^(\d{1,15})(-|$)/.exec(opaque)?.[1]
  return edit === undefined ? [] : [Number(edit)]
}

const MALFORMED_TAGS = {
  msg: 'Must be entity tags as they were answered, in their quotes and separated by commas; or `*`.',
  type: 'string_pattern_mismatch',
}
const UNSUPPORTED_CONDITION = { msg: 'This call takes no such condition.', type: 'extra_forbidden' }
const DATE_CONDITION = {
  msg: 'Nothing here is known by its date: send the ETag in `If-Match`.',
  type: 'extra_forbidden',
}

/** Whether an operation's answers of success have tags: all of a GET, unless nobody may keep them. */
const isTagged = ({ method, headers }: ConditionalOperation) =>
  method === 'GET' && headers?.['cache-control'] !== 'no-store'

const sendsTag = (operation: ConditionalOperation, schema: z.ZodType) =>
  isTagged(operation) || (operation.method !== 'DELETE' && ADDRESSABLE_SCHEMAS.has(schema))

/** Answers `source`, with its tag where it has one; to a caller of a GET who has it already only that: 304. */
export function sendResource(
  reply: FastifyReply,
  operation: ConditionalOperation,
  { ifNoneMatch }: Conditions,
  schema: z.ZodType,
  source: unknown,
  ctx: RequestContext,
): FastifyReply {
  if (!sendsTag(operation, schema)) return reply.send(encode(schema, source as never, ctx))
  return sendTagged(reply, representShared(schema, source, ctx), ifNoneMatch)
}

/** The same of what is represented already. `body` null: `ifNoneMatch` has the tag. */
export function sendTagged(
  reply: FastifyReply,
  { body, tag }: { body: string | Buffer | null; tag: string },
  ifNoneMatch: TagList | undefined,
): FastifyReply {
  reply.header('etag', tag)
  return body && noneMatch(ifNoneMatch, tag) ? reply.type(JSON_TYPE).send(body) : reply.code(304).send()
}

/** Answers what is JSON already, with the tag that it had. `edit`: of the resource, where callers edit it. */
export function sendStoredJson(
  reply: FastifyReply,
  operation: ConditionalOperation,
  schema: z.ZodType,
  json: unknown,
  edit?: number,
): FastifyReply {
  if (!sendsTag(operation, schema)) return reply.send(json)
  const body = JSON.stringify(json)
  reply.header('etag', entityTag(body, VERSIONED_SCHEMAS.has(schema) ? edit : undefined))
  return reply.type(JSON_TYPE).send(body)
}

/** As Fastify says it. */
const JSON_TYPE = 'application/json; charset=utf-8'

/** In the document: what the answer of success has beside its body. Null: nothing. */
export function tagHeader(operation: ConditionalOperation, schema: z.ZodType): ResponseHeaders | null {
  if (!sendsTag(operation, schema)) return null
  const description = VERSIONED_SCHEMAS.has(schema)
    ? 'Of this answer to this caller: `"<edit>-<hash>"`. `If-Match` compares the edit alone, `If-None-Match` all of it.'
    : 'Of this answer to this caller, for `If-None-Match`.'
  return { ETag: { type: 'string', description } }
}

/** In the document: the statuses that it has for its conditions. */
export const conditionStatuses = (operation: ConditionalOperation) => ({
  notModified: isTagged(operation),
  preconditionFailed: operation.ifMatch ?? false,
})

/** In the document: the headers that a request to it may have. */
export function conditionHeaders(operation: ConditionalOperation): z.ZodObject | null {
  if (operation.ifMatch) return z.object({ 'If-Match': IF_MATCH })
  return isTagged(operation) ? z.object({ 'If-None-Match': IF_NONE_MATCH }) : null
}

const IF_MATCH = z
  .string()
  .optional()
  .describe(
    'The `ETag` that is known: the call is carried out only if nobody has edited the resource since, otherwise it is 412 and nothing is changed. What work does to it (a status, health) is no edit.',
  )
const IF_NONE_MATCH = z.string().optional().describe('The `ETag` that is known: 304 without a body if it still holds.')
