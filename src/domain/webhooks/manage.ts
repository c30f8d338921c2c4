/** Creates, changes, tests and deletes webhook endpoints, and rotates their secrets (docs/webhooks.md). Role: admin. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ConflictError, NotFoundError, rejectIfAny, requireVersion, type Violation } from '../errors/errors.ts'
import { changedFields, parse, type RawInput, violation } from '../parsing/parse.ts'
import { eventBy, requireRole, tenant } from '../transaction/access.ts'
import { type RequestContext, transaction } from '../transaction/context.ts'
import { once, writeVerb } from '../transaction/once.ts'
import { DEFAULT_WEBHOOK_EVENTS } from '../values/event-types.ts'
import {
  createBody,
  type EndpointView,
  endpointPath,
  lockEndpoint,
  newSecret,
  sealAsPrevious,
  sealSecret,
  signingSecrets,
  updateBody,
  type WebhookForm,
  WITHOUT_SECRETS,
} from './endpoint.ts'

const MAX_ENDPOINTS = 50
/** Time in which messages are also signed with the previous secret. */
const PREVIOUS_SECRET_HOURS = 24

export interface WithSecret {
  row: EndpointView
  /** the secret, shown once; null: the response to the first call showed it */
  secret: string | null
}

interface Written {
  id: string
  row: EndpointView
  secret: string
}

/** Makes a verb that returns the secret of `write`, unless the answer is a repeated one. */
const showing =
  (
    write: (
      ctx: RequestContext,
      raw: RawInput,
      read: (tx: unknown, one: Written) => Promise<EndpointView>,
    ) => Promise<EndpointView>,
  ) =>
  async (ctx: RequestContext, raw: RawInput): Promise<WithSecret> => {
    const shown: Written[] = []
    const row = await write(ctx, raw, async (_tx, written) => {
      shown.push(written)
      return written.row
    })
    return { row, secret: shown.at(-1)?.secret ?? null }
  }

export const createInput = z.object({ body: createBody })

/** Gets the events that are committed after it. Throws ConflictError for too many endpoints. */
export const createEndpoint = showing(
  writeVerb<Written>(async (ctx, raw, read) => {
    requireRole(ctx, 'admin')
    const { body } = parse(createInput, raw)
    rejectIfAny(urlViolations(ctx, body.url))
    const workspaceId = ctx.workspace.id
    const [id, secret] = [randomUUID(), newSecret()]
    return transaction(ctx, async (tx) => {
      if ((await tx.sql.webhookEndpoint.count({ where: { workspaceId } })) >= MAX_ENDPOINTS)
        throw new ConflictError(`A workspace can have at most ${MAX_ENDPOINTS} webhook endpoints. Delete one first.`)
      const { sequence: cursor } = await tx.sql.eventCounter.findUniqueOrThrow({ where: { workspaceId } })
      const row = await tx.sql.webhookEndpoint.create({
        data: {
          id,
          workspaceId,
          name: body.name,
          url: body.url,
          form: body.form ?? 'standard',
          eventTypes: body.event_types ?? [...DEFAULT_WEBHOOK_EVENTS],
          enabled: body.enabled ?? true,
          secret: sealSecret(ctx.keyring, id, secret),
          cursor,
          createdBy: ctx.actor.subject,
        },
        omit: WITHOUT_SECRETS,
      })
      tx.emit({ ...eventBy(ctx), type: 'webhook_endpoint.created', subjectId: id })
      return read(tx, { id, row, secret })
    })
  }),
)

export const updateInput = z.object({ path: endpointPath, body: updateBody })

/** A call without changes writes no event. */
export const updateEndpoint = writeVerb<EndpointView>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path, body } = parse(updateInput, raw)
  const id = path.webhook_endpoint_id
  return transaction(ctx, async (tx) => {
    const stored = await lockEndpoint(tx, ctx, id)
    requireVersion(raw.ifMatch, 'Webhook endpoint', id, stored)
    if (body.url != null && body.url !== stored.url) rejectIfAny(urlViolations(ctx, body.url))
    const changes = {
      name: body.name ?? undefined,
      url: body.url ?? undefined,
      form: body.form ?? undefined,
      eventTypes: body.event_types ?? undefined,
      enabled: body.enabled ?? undefined,
    }
    const changed = changedFields(stored, changes)
    if (changed.length === 0) return read(tx, stored)
    const row = await tx.sql.webhookEndpoint.update({
      where: { id },
      // another address may answer, so it is tried immediately
      data: { ...changes, unanswered: 0, notBefore: null, editVersion: { increment: 1 }, updatedAt: tx.now() },
      omit: WITHOUT_SECRETS,
    })
    tx.emit({ ...eventBy(ctx), type: 'webhook_endpoint.updated', changed, subjectId: id })
    return read(tx, row)
  })
})

export const rotateInput = z.object({ path: endpointPath })

/** Makes a new secret. For a day messages are signed with the old one, too. */
export const rotateEndpointSecret = showing(
  writeVerb<Written>(async (ctx, raw, read) => {
    requireRole(ctx, 'admin')
    const id = parse(rotateInput, raw).path.webhook_endpoint_id
    const secret = newSecret()
    return transaction(ctx, async (tx) => {
      const stored = await lockEndpoint(tx, ctx, id)
      requireVersion(raw.ifMatch, 'Webhook endpoint', id, stored)
      const now = tx.now()
      const row = await tx.sql.webhookEndpoint.update({
        where: { id },
        data: {
          secret: sealSecret(ctx.keyring, id, secret),
          previousSecret: sealAsPrevious(ctx.keyring, stored),
          previousUntil: new Date(now.getTime() + PREVIOUS_SECRET_HOURS * 3_600_000),
          editVersion: { increment: 1 },
          updatedAt: now,
        },
        omit: WITHOUT_SECRETS,
      })
      tx.emit({ ...eventBy(ctx), type: 'webhook_endpoint.updated', changed: ['secret'], subjectId: id })
      return read(tx, { id, row, secret })
    })
  }),
)

export const deleteInput = z.object({ path: endpointPath })

/** Also deletes its deliveries. */
export const deleteEndpoint = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'admin')
  const id = parse(deleteInput, raw).path.webhook_endpoint_id
  await transaction(ctx, async (tx) => {
    requireVersion(raw.ifMatch, 'Webhook endpoint', id, await lockEndpoint(tx, ctx, id))
    await tx.sql.webhookEndpoint.delete({ where: { id }, select: { id: true } })
    tx.emit({ ...eventBy(ctx), type: 'webhook_endpoint.deleted', subjectId: id })
  })
})

function urlViolations({ webhooks }: RequestContext, url: string): Violation[] {
  const refusal = webhooks.refusal(url)
  return refusal === null ? [] : [violation('url', `The URL ${refusal}.`)]
}

/** Sends a test message to a webhook endpoint and says what it answered. Nothing is stored. Role: admin. */
export const testInput = z.object({ path: endpointPath })

export interface TestOutcome {
  delivered: boolean
  /** HTTP status; null: no answer */
  answer: number | null
  /** sentence; null: delivered */
  error: string | null
  milliseconds: number
}

/** Throws NotFoundError. */
export async function testEndpoint(ctx: RequestContext, raw: RawInput): Promise<TestOutcome> {
  requireRole(ctx, 'admin')
  const id = parse(testInput, raw).path.webhook_endpoint_id
  const endpoint = await ctx.db.webhookEndpoint.findFirst({ where: { id, ...tenant(ctx) } })
  if (!endpoint) throw new NotFoundError('Webhook endpoint', id)
  const began = performance.now()
  const now = ctx.clock()
  const outcome = await ctx.webhooks.send({
    id: `msg_${randomUUID()}`,
    url: endpoint.url,
    body: testBody(endpoint.form as WebhookForm, endpoint.name, now),
    secrets: signingSecrets(ctx.keyring, endpoint, now),
    sentAt: now,
  })
  return {
    delivered: outcome.kind === 'delivered',
    answer: outcome.kind === 'unanswered' ? null : outcome.answer,
    error: outcome.kind === 'delivered' ? null : `The endpoint ${outcome.error}.`,
    milliseconds: Math.round(performance.now() - began),
  }
}

function testBody(form: WebhookForm, name: string, now: Date): string {
  const message = `Test of the webhook endpoint ${name}.`
  return JSON.stringify(
    form === 'slack'
      ? { text: message }
      : { type: 'webhook_endpoint.test', timestamp: now.toISOString(), data: { message } },
  )
}
