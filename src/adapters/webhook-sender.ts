/** Sends webhooks, signed by Standard Webhooks (github.com/standard-webhooks/standard-webhooks), through the guarded fetch. */
import { Webhook } from 'standardwebhooks'
import { WEBHOOK_TIMEOUT_MS, type WebhookOutcome, type WebhookSender } from '../domain/ports/webhook-sender.ts'
import type { ResolveHost } from '../platform/http/guarded-connect.ts'
import { createOutbound } from '../platform/http/guarded-fetch.ts'
import { addressRefusal, type OutboundRules } from '../platform/http/outbound-address.ts'
import { clauseOf } from '../platform/http/outbound-failure.ts'

/** `resolve`: host name look-up; default: the system's. */
export function openSender(rules: OutboundRules, resolve?: ResolveHost): WebhookSender {
  const outbound = createOutbound(rules, resolve)
  return {
    refusal: (url) => addressRefusal(rules, url),
    async send({ id, url, body, secrets, sentAt }, signal) {
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
        'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, sentAt, body)).join(' '),
      }
      const init = { method: 'POST', headers, body, timeoutMs: WEBHOOK_TIMEOUT_MS, ...(signal && { signal }) }
      try {
        return outcomeOf(await outbound.fetch(url, init))
      } catch (error) {
        return { kind: 'unanswered', error: clauseOf(error) }
      }
    },
  }
}

function outcomeOf({ ok, status, headers }: Response): WebhookOutcome {
  if (ok) return { kind: 'delivered', answer: status }
  const error =
    status >= 300 && status < 400 ? `answered ${status}, and redirects are not followed` : `answered ${status}`
  const after = headers.get('retry-after') ?? ''
  return { kind: 'refused', answer: status, error, retryAfterSeconds: /^\d{1,6}$/.test(after) ? Number(after) : null }
}
