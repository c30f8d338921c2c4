/** Webhook endpoints: their shapes, their secrets, and the rows that a caller may see (docs/webhooks.md). Role: admin. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { WebhookEndpoint } from '../../generated/prisma/client.ts'
import { seal, unseal } from '../crypto/encrypted-value.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import { NotFoundError } from '../errors/errors.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { optional, printableName, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { toChange } from '../repositories/locks.ts'
import { requireRole, tenant } from '../transaction/access.ts'
import type { ReadContext, RequestContext, Tx } from '../transaction/context.ts'
import { resource } from '../transaction/resource.ts'
import { DEFAULT_WEBHOOK_EVENTS, WEBHOOK_EVENT_WORDS } from '../values/event-types.ts'
import { offsetQuery } from '../values/shapes.ts'

export const WEBHOOK_FORMS = ['standard', 'slack'] as const
export type WebhookForm = (typeof WEBHOOK_FORMS)[number]

const form = z.enum(WEBHOOK_FORMS).meta({ typeName: 'WebhookForm' })
const url = z
  .string()
  .min(1)
  .max(2048)
  .describe(
    'Where messages are sent. Must be https, or http on this machine. A private address must be in OUTBOUND_ALLOW.',
  )
const eventTypes = z
  .array(
    z.string().refine((word) => WEBHOOK_EVENT_WORDS.includes(word), 'Must be a type of event, `<resource>.*` or `*`.'),
  )
  .min(1)
  .max(100)
  .describe('The events that it gets: types, `<resource>.*` for all types of a resource, or `*`.')
const enabled = z.boolean().describe('A disabled endpoint gets no events. Its pending deliveries wait.')

export const createBody = z
  .object({
    name: printableName,
    url,
    form: optional(form).describe(
      '`standard` (default): signed JSON. `slack`: a text for an incoming webhook of Slack.',
    ),
    event_types: optional(eventTypes).describe(
      `The events that it gets: types, \`<resource>.*\` or \`*\`. Default: ${DEFAULT_WEBHOOK_EVENTS.join(', ')}.`,
    ),
    enabled: optional(enabled),
  })
  .meta({ id: 'WebhookEndpointCreate' })

export const updateBody = z
  .object({
    name: optional(printableName),
    url: optional(url),
    form: optional(form),
    event_types: optional(eventTypes),
    enabled: optional(enabled),
  })
  .meta({ id: 'WebhookEndpointUpdate' })

export const endpointPath = z.object({ webhook_endpoint_id: uuid })

/** A row without its secrets. */
export type EndpointView = Omit<WebhookEndpoint, 'secret' | 'previousSecret'>

export const WITHOUT_SECRETS = { secret: true, previousSecret: true } as const

/** A URL may contain a secret, such as Slack's, so only admins see endpoints. */
export const endpoints = resource<EndpointView>({
  name: 'Webhook endpoint',
  table: (sql) => sql.webhookEndpoint,
  visible: tenant,
  check: (ctx) => requireRole(ctx, 'admin'),
  view: { omit: WITHOUT_SECRETS },
})

export const getInput = z.object({ path: endpointPath })
export const getEndpoint = (ctx: RequestContext, raw: RawInput): Promise<EndpointView> =>
  endpoints.get(ctx, () => parse(getInput, raw).path.webhook_endpoint_id)

export const listInput = z.object({ query: z.object(offsetQuery) })
export const listEndpoints = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<EndpointView>> =>
  endpoints.page(ctx, () => parse(listInput, raw).query)

/** Locks an endpoint of the workspace until the commit and reads it. Throws NotFoundError. */
export async function lockEndpoint(tx: Tx, ctx: ReadContext, id: string): Promise<WebhookEndpoint> {
  await tx.sql.$queryRaw`
    SELECT 1 FROM webhook_endpoints WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid ${toChange('webhook_endpoints')}`
  const found = await tx.sql.webhookEndpoint.findFirst({ where: { id, ...tenant(ctx) } })
  if (!found) throw new NotFoundError('Webhook endpoint', id)
  return found
}

/** Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

const place = (id: string) => `webhook_endpoints.secret:${id}`
const previousPlace = (id: string) => `webhook_endpoints.previous_secret:${id}`

export const sealSecret = (keyring: KeyRing, id: string, secret: string): string => seal(keyring, place(id), secret)

/** The current secret, encrypted for the column of the previous one. */
export const sealAsPrevious = (keyring: KeyRing, { id, secret }: Pick<WebhookEndpoint, 'id' | 'secret'>): string =>
  seal(keyring, previousPlace(id), unseal(keyring, place(id), secret))

export type SigningSecrets = Pick<WebhookEndpoint, 'id' | 'secret' | 'previousSecret' | 'previousUntil'>

/** Decrypted, newest first. */
export function signingSecrets(keyring: KeyRing, endpoint: SigningSecrets, now: Date): string[] {
  const { id, secret, previousSecret, previousUntil } = endpoint
  const previous = previousSecret !== null && previousUntil !== null && previousUntil > now ? [previousSecret] : []
  return [unseal(keyring, place(id), secret), ...previous.map((sealed) => unseal(keyring, previousPlace(id), sealed))]
}
