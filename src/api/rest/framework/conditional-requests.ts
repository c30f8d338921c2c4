/**
 * Conditional requests (RFC 9110, 13; docs/api-rules.md#conditional-requests): entity tags, 304 for GETs, If-Match for writes.
 * See README.md.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Violation } from '../../../domain/errors/errors.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import { seesValues } from '../../../domain/transaction/access.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { alertRule } from '../responses/alert.ts'
import { deployment } from '../responses/deployment.ts'
import { listener } from '../responses/listener.ts'
import { oauthProvider } from '../responses/oauth-token.ts'
import { encode, type ResponseHeaders } from '../responses/response-schema.ts'
import { revision } from '../responses/revision.ts'
import { webhookEndpoint } from '../responses/webhook-endpoint.ts'

/** Resources that callers change. Their tag begins with the version. */
const VERSIONED_SCHEMAS: ReadonlySet<z.ZodType> = new Set([
  deployment,
  listener,
  oauthProvider,
  webhookEndpoint,
  alertRule,
])
/** Resources with their own URL. A write that returns one sends the same `ETag` as a GET. */
const ADDRESSABLE_SCHEMAS: ReadonlySet<z.ZodType> = new Set([...VERSIONED_SCHEMAS, revision])

/** The members of an operation that matter for conditions. */
export interface ConditionalOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** the operation supports If-Match */
  ifMatch?: boolean
  headers?: Record<string, string>
}

/** An encoded body and its entity tag, with the quotes. */
export interface Representation {
  body: string
  tag: string
}

/** Representations of objects that several waiting calls share, by schema and by the rights of the caller. */
const sharedRepresentations = new WeakMap<
  object,
  { schema: z.ZodType; rights: string; representation: Representation }[]
>()

/** Encodes `source` once for all callers with the same rights. */
function representShared(schema: z.ZodType, source: unknown, ctx: RequestContext): Representation {
  const { organizationId, role } = ctx.actor
  const rights = `${organizationId} ${role} ${seesValues(ctx.actor)}`
  const those = sharedRepresentations.get(source as object) ?? []
  const known = those.find((one) => one.schema === schema && one.rights === rights)
  if (known) return known.representation
  const representation = represent(schema, source, ctx)
  sharedRepresentations.set(source as object, [...those, { schema, rights, representation }])
  return representation
}

export function represent(schema: z.ZodType, source: unknown, ctx: RequestContext): Representation {
  const body = JSON.stringify(encode(schema, source as never, ctx))
  return {
    body,
    tag: entityTag(body, VERSIONED_SCHEMAS.has(schema) ? (source as { editVersion: number }).editVersion : undefined),
  }
}

/** The strong tag of a body. `edit`: version of the resource, if it has one. */
function entityTag(body: string, edit?: number): string {
  // 128 bits are sufficient against collisions
  const digest = hash('sha256', body, 'hex').slice(0, 32)
  return edit === undefined ? `"${digest}"` : `"${edit}-${digest}"`
}

/** For the verb of a GET with If-None-Match that waits: tells whether the resource differs from the caller's tag. */
export function newsCheck(
  schema: z.ZodType | null | undefined,
  { ifNoneMatch }: Conditions,
  ctx: RequestContext,
): Pick<RawInput, 'isNews'> {
  if (!ifNoneMatch || !schema) return {}
  return { isNews: (source) => noneMatch(ifNoneMatch, representShared(schema, source, ctx).tag) }
}

/** Whether If-None-Match (`tags`) does not include `tag`: weak comparison (RFC 9110, 13.1.2). True without the header. */
export function noneMatch(tags: TagList | undefined, tag: string): boolean {
  if (tags === undefined) return true
  return tags !== '*' && !tags.some(({ opaque }) => `"${opaque}"` === tag)
}

export interface Conditions {
  /** only for a GET */
  ifNoneMatch?: TagList
  /** for the verb, which knows when to check them and in which order it reports violations */
  raw: Pick<RawInput, 'ifMatch' | 'refused'>
}

const CONDITION_HEADERS = { 'If-Match': 'if-match', 'If-None-Match': 'if-none-match' } as const
const NO_CONDITIONS: Conditions = { raw: {} }

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
  // with a supported If-Match it must be ignored (RFC 9110, 13.1.4)
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

/** The version in a tag, for strong comparison. Empty for a weak tag and for a tag without a version. The hash is ignored. */
const versionsOf = ({ weak, opaque }: EntityTag) => {
  const edit = weak ? undefined : /^(\d{1,15})(-|$)/.exec(opaque)?.[1]
  return edit === undefined ? [] : [Number(edit)]
}

const MALFORMED_TAGS = {
  msg: 'Must be `*`, or entity tags with their quotes, separated by commas.',
  type: 'string_pattern_mismatch',
}
const UNSUPPORTED_CONDITION = { msg: 'This call does not support this condition.', type: 'extra_forbidden' }
const DATE_CONDITION = {
  msg: 'Conditions on dates are not supported: send the ETag in `If-Match`.',
  type: 'extra_forbidden',
}

/** Whether successful answers have tags: all GETs except those with `no-store`. */
const isTagged = ({ method, headers }: ConditionalOperation) =>
  method === 'GET' && headers?.['cache-control'] !== 'no-store'

const sendsTag = (operation: ConditionalOperation, schema: z.ZodType) =>
  isTagged(operation) || (operation.method !== 'DELETE' && ADDRESSABLE_SCHEMAS.has(schema))

/** Sends `source` with its tag, if it has one. A GET whose caller has the same tag answers 304. */
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

/** Sends an encoded body, or 304. `body`: null only if `ifNoneMatch` includes the tag. */
export function sendTagged(
  reply: FastifyReply,
  { body, tag }: { body: string | Buffer | null; tag: string },
  ifNoneMatch: TagList | undefined,
): FastifyReply {
  reply.header('etag', tag)
  return body && noneMatch(ifNoneMatch, tag) ? reply.type(JSON_TYPE).send(body) : reply.code(304).send()
}

/** Sends stored JSON with its original tag. `edit`: version of the resource, if it has one. */
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

/** Same as Fastify's own. */
const JSON_TYPE = 'application/json; charset=utf-8'

/** For the OpenAPI document: the headers of a successful answer. */
export function tagHeader(operation: ConditionalOperation, schema: z.ZodType): ResponseHeaders | null {
  if (!sendsTag(operation, schema)) return null
  const description = VERSIONED_SCHEMAS.has(schema)
    ? 'The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag.'
    : 'The entity tag of this answer for this caller, for `If-None-Match`.'
  return { ETag: { type: 'string', description } }
}

/** For the OpenAPI document: the statuses that conditions add. */
export const conditionStatuses = (operation: ConditionalOperation) => ({
  notModified: isTagged(operation),
  preconditionFailed: operation.ifMatch ?? false,
})

/** For the OpenAPI document: the condition headers of a request. */
export function conditionHeaders(operation: ConditionalOperation): z.ZodObject | null {
  if (operation.ifMatch) return z.object({ 'If-Match': IF_MATCH })
  return isTagged(operation) ? z.object({ 'If-None-Match': IF_NONE_MATCH }) : null
}

const IF_MATCH = z
  .string()
  .optional()
  .describe(
    'The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count.',
  )
const IF_NONE_MATCH = z
  .string()
  .optional()
  .describe('The `ETag` that you know. The answer is 304 without a body if it is still current.')

/** Reads lists of entity tags, as in If-Match and If-None-Match (RFC 9110, 8.8.3 and 5.6.1). Pure. */
interface EntityTag {
  /** marked `W/`: equal in meaning, not necessarily in every byte */
  weak: boolean
  /** the text between the quotes */
  opaque: string
}

/** `*` matches every existing resource. */
type TagList = '*' | readonly EntityTag[]

/** One tag or an empty element, and the comma after it. Blanks match in only one way; two ways would take quadratic time. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** Null: not a list of at least one tag. */
export function parseTags(text: string): TagList | null {
  if (text.trim() === '*') return '*'
  const tags: EntityTag[] = []
  ELEMENT.lastIndex = 0
  while (ELEMENT.lastIndex < text.length) {
    const found = ELEMENT.exec(text)
    if (!found) return null
    if (found[2] !== undefined) tags.push({ weak: found[1] !== undefined, opaque: found[2] })
  }
  return tags.length > 0 ? tags : null
}
