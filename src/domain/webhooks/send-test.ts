/** Sends a test message to a webhook endpoint and says what it answered. Nothing is stored. Role: admin. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { NotFoundError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole, tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { endpointPath, signingSecrets, type WebhookForm } from './endpoint.ts'

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
